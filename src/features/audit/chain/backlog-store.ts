/** Queries for events without a link. They take no lock, so that they work while a sequencer holds its lock. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import { isRestored, linkOf, type SequencerProgress } from './links-store.ts';

export type LinkingProgress = Pick<SequencerProgress, 'settledBefore' | 'reached' | 'restored'>;

export const readLinkingProgress = (db: Queryable): Promise<LinkingProgress | undefined> =>
  db.maybe(
    'audit.backlog.progress',
    prepared(sql`
      select settled_before::text as "settledBefore", reached::text, ${isRestored} as restored
      from audit_progress, pg_current_snapshot() as now`),
  );

/** Further ones are younger, unless their rows were written by hand. */
const maxUnlinked = 100;
/** Events that may have a link. There are more only while a transaction stays open for very long. */
const maxMaybeLinked = 20_000;

/**
 * The age in milliseconds of the oldest event without a link, among those from before a time; 0 when there is none. Events of
 * transactions after `reached` have none; for the others it is looked up.
 */
export async function findOldestUnlinked(
  db: Queryable,
  { settledBefore, reached }: LinkingProgress,
  { now, before }: { now: number; before: number },
): Promise<number> {
  const { age } = await db.one<{ age: number }>(
    'audit.backlog.oldest',
    prepared(sql`
      select coalesce(extract(epoch from ${isoOf(now)}::timestamptz - min(occurred_at)) * 1000, 0)::float8 as age
      from (
        (select occurred_at from audit_events
         where appended_in > ${reached}::xid8 and occurred_at < ${isoOf(before)}::timestamptz
         order by appended_in limit ${maxUnlinked})
        union all
        (select e.occurred_at
         from (select occurred_at, event_id from audit_events
               where appended_in >= ${settledBefore}::xid8 and appended_in <= ${reached}::xid8
                 and occurred_at < ${isoOf(before)}::timestamptz
               order by appended_in limit ${maxMaybeLinked}) e
         left join lateral (${linkOf(undefined)}) linked on true
         where linked.yes is null limit ${maxUnlinked})
      ) unlinked`),
  );
  return age;
}

export interface AppendedEvent {
  readonly eventId: string;
  readonly organizationId: string;
  readonly timestamp: string;
}

export interface EventState {
  readonly eventId: string;
  readonly linked: boolean;
  readonly present: boolean;
}

/**
 * One statement, thus one snapshot for rows and links. A link counts when it is in the event's own chain and the newest
 * checkpoint covers it: the sequencer makes no other.
 */
export const findEventStates = (db: Queryable, events: readonly AppendedEvent[]): Promise<EventState[]> =>
  db.many(
    'audit.backlog.whereabouts',
    prepared(sql`
      with appended as materialized (
        select * from unnest(${events.map(({ eventId }) => eventId)}::uuid[],
                             ${events.map(({ organizationId }) => organizationId)}::uuid[],
                             ${events.map(({ timestamp }) => timestamp)}::timestamptz[])
          as e (event_id, organization_id, occurred_at)
      ),
      heads as materialized (
        select o.organization_id, (
          select c.size from audit_checkpoints c
          where c.organization_id = o.organization_id and c.taken_on >= (o.since at time zone 'UTC')::date - 1
          order by c.number desc limit 1) as size
        from (select organization_id, min(occurred_at) as since from appended group by organization_id) o
      )
      select e.event_id as "eventId", linked.yes is not null as linked, stored.yes is not null as present
      from appended e join heads h using (organization_id)
      left join lateral (
        select true as yes from audit_links l
        where l.event_id = e.event_id and l.organization_id = e.organization_id and l.sequence <= h.size
          and l.linked_on >= (e.occurred_at at time zone 'UTC')::date - 1
        limit 1
      ) linked on true
      left join lateral (
        select true as yes from audit_events s
        where s.occurred_at = e.occurred_at and s.event_id = e.event_id limit 1
      ) stored on true`),
  );

const isoOf = (time: number): string => new Date(time).toISOString();
