/** Queries for events without a link. They take no lock, so that they work while a sequencer holds its lock. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import { isNotLinked, isRestored, type SequencerProgress, withLinks } from './links-store.ts';

type LinkingProgress = Pick<SequencerProgress, 'settledBefore' | 'reached' | 'restored'>;

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
 * The age in milliseconds of the oldest event without a link; 0 when each is younger than `youngMs`. Events of transactions
 * after `reached` have none; for the others it is looked up. The age is by the clock of the database: a node with a wrong clock
 * would report a delay that no other sees.
 */
export async function findOldestUnlinked(
  db: Queryable,
  { settledBefore, reached }: LinkingProgress,
  youngMs: number,
): Promise<number> {
  const isOldEnough = sql`occurred_at < statement_timestamp() - make_interval(secs => ${youngMs / 1_000})`;
  const { age } = await db.one<{ age: number }>(
    'audit.backlog.oldest',
    prepared(sql`
      with ${withLinks(sql`
        select organization_id, event_id, occurred_at, appended_in from audit_events
        where appended_in >= ${settledBefore}::xid8 and appended_in <= ${reached}::xid8 and ${isOldEnough}
        order by appended_in limit ${maxMaybeLinked}`)}
      select coalesce(extract(epoch from statement_timestamp() - min(occurred_at)) * 1000, 0)::float8 as age
      from (
        (select occurred_at from audit_events
         where appended_in > ${reached}::xid8 and ${isOldEnough}
         order by appended_in limit ${maxUnlinked})
        union all
        (select e.occurred_at from candidates e where ${isNotLinked} limit ${maxUnlinked})
      ) unlinked`),
  );
  return age;
}

/** Whether an event from before that time (ISO 8601) has no link. */
export async function hasUnlinkedBefore(
  db: Queryable,
  { settledBefore, reached }: LinkingProgress,
  time: string,
): Promise<boolean> {
  const { unlinked } = await db.one<{ unlinked: boolean }>(
    'audit.backlog.before',
    sql`
      with ${withLinks(sql`
        select organization_id, event_id, occurred_at, appended_in from audit_events
        where appended_in >= ${settledBefore}::xid8 and appended_in <= ${reached}::xid8 and occurred_at < ${time}
        order by appended_in limit ${maxMaybeLinked}`)}
      select exists (select from audit_events where appended_in > ${reached}::xid8 and occurred_at < ${time})
             or exists (select from candidates e where ${isNotLinked}) as unlinked`,
  );
  return unlinked;
}

interface AppendedEvent {
  readonly eventId: string;
  readonly timestamp: string;
}

interface EventState {
  readonly eventId: string;
  /** The size of the checkpoint that covers its link; null without a link. */
  readonly coveredAt: number | null;
  readonly present: boolean;
}

/**
 * One statement, thus one snapshot for rows and links. An event without a row is deleted, with or without a link; so links
 * are looked up for the rows.
 */
export const findEventStates = (db: Queryable, events: readonly AppendedEvent[]): Promise<EventState[]> =>
  db.many(
    'audit.backlog.whereabouts',
    prepared(sql`
      with appended as materialized (
        select * from unnest(${events.map(({ eventId }) => eventId)}::uuid[],
                             ${events.map(({ timestamp }) => timestamp)}::timestamptz[])
          as e (event_id, occurred_at)
      ),
      ${withLinks(sql`
        select stored.* from appended cross join lateral (
          select organization_id, event_id, occurred_at, appended_in from audit_events s
          where s.occurred_at = appended.occurred_at and s.event_id = appended.event_id limit 1
        ) stored`)}
      select appended.event_id as "eventId", e.event_id is not null as present, (
               select min(links.size) from links
               where links.organization_id = e.organization_id
                 and links.key = uuid_send(e.event_id) || timestamptz_send(e.occurred_at)
             ) as "coveredAt"
      from appended left join candidates e using (event_id)`),
  );
