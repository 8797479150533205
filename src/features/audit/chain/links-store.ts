/** The rows that the sequencer reads and writes: its progress, events without a link, and links. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { listOf, prepared, type Sql, sql } from '../../../kernel/data/sql.ts';
import { canonicalOf } from '../log/canonical-store.ts';
import type { Link } from './hashes.ts';

export interface SequencerProgress {
  /** The sequencer has processed every event of earlier transactions. */
  readonly settledBefore: string;
  /** No event of a later transaction has a link yet. */
  readonly reached: string;
  /** The snapshot in which this was read, its oldest open transaction, and the first transaction that had not begun. */
  readonly snapshot: string;
  readonly oldestOpen: string;
  readonly next: string;
  /**
   * The row came from a restore or was written by hand, not by the sequencer. Then transaction ids prove nothing: events of
   * any id may lack a link, and transactions of the dumped server may have the same ids as those of this one, or later ones.
   */
  readonly restored: boolean;
}

/** For the row of audit_progress in the snapshot `now`. */
export const isRestored = sql`
  (audit_progress.xmin <> written_in::xid or settled_before > pg_snapshot_xmax(now))`;

/** The row is no evidence. If it was deleted, a new one makes the sequencer process the whole log again. */
export async function readProgress(tx: Tx): Promise<SequencerProgress> {
  const read = () =>
    tx.maybe<SequencerProgress>(
      'audit.horizon',
      prepared(sql`
        select settled_before::text as "settledBefore", reached::text, now::text as snapshot,
               pg_snapshot_xmin(now)::text as "oldestOpen", pg_snapshot_xmax(now)::text as next,
               ${isRestored} as restored
        from audit_progress, pg_current_snapshot() as now`),
    );
  const progress = await read();
  if (progress) return progress;
  await tx.run(
    'audit.progress.insert',
    sql`insert into audit_progress (settled_before, reached) values ('0', '0')`,
  );
  return (await read()) as SequencerProgress;
}

export const writeProgress = (tx: Tx, settledBefore: string, reached: string): Promise<number> =>
  tx.run(
    'audit.progress',
    prepared(
      sql`update audit_progress set settled_before = ${settledBefore}::xid8, reached = ${reached}::xid8,
                                    written_in = pg_current_xact_id()`,
    ),
  );

/** The highest transaction id in `appended_in` of any event. */
export async function findHighestTransaction(tx: Tx): Promise<string> {
  const highest = await tx.maybe<{ appendedIn: string }>(
    'audit.highest',
    sql`select appended_in::text as "appendedIn" from audit_events e order by e.appended_in desc limit 1`,
  );
  return highest?.appendedIn ?? '0';
}

/** An event without a link. */
export interface UnlinkedEvent {
  readonly eventId: string;
  readonly organizationId: string;
  readonly timestamp: string;
  /** False when the time has microseconds: the service writes none, and `timestamp` does not show them. */
  readonly exact: boolean;
  readonly canonical: string;
  readonly appendedIn: string;
  readonly seal: string;
}

/** A place in the order of appending. */
export interface AppendCursor {
  readonly appendedIn: string;
  readonly timestamp: string;
  readonly eventId: string;
}

/** Transaction ids; undefined means no bound. */
export interface TransactionBounds {
  readonly before: string | undefined;
  readonly last: string | undefined;
  readonly reached: string | undefined;
}

/** The columns are those of `e`. The first condition lets PostgreSQL use the index. */
const isAfter = ({ appendedIn, timestamp, eventId }: AppendCursor): Sql =>
  sql`e.appended_in >= ${appendedIn}::xid8
      and (e.appended_in, e.occurred_at, e.event_id) > (${appendedIn}::xid8, ${timestamp}::timestamptz, ${eventId}::uuid)`;

/** The transaction at which a batch of `events` ends. It bounds the sort to one batch of the backlog. */
export async function findEndOfBatch(
  tx: Tx,
  after: AppendCursor,
  before: string | undefined,
  events: number,
): Promise<string | undefined> {
  const end = await tx.maybe<{ appendedIn: string }>(
    'audit.unlinked.end',
    sql`select e.appended_in::text as "appendedIn" from audit_events e
        where ${isAfter(after)} ${before === undefined ? sql`` : sql`and e.appended_in < ${before}::xid8`}
        order by e.appended_in offset ${events} limit 1`,
  );
  return end?.appendedIn;
}

/**
 * The link of the event `e`; `yes` is null without one. A link is made on the day of its event or later, and a day is
 * allowed for clock skew. `limit 1` makes PostgreSQL look up each event, for any estimate of the planner.
 */
export const linkOf = (reached: string | undefined): Sql => sql`
  select true as yes from audit_links l
  where ${reached === undefined ? sql`` : sql`e.appended_in <= ${reached}::xid8 and`}
        l.event_id = e.event_id and l.linked_on >= (e.occurred_at at time zone 'UTC')::date - 1
  limit 1`;

/** Events after the cursor that have no link. */
export const findUnlinked = (
  tx: Tx,
  after: AppendCursor,
  { before, last, reached }: TransactionBounds,
  limit: number,
): Promise<UnlinkedEvent[]> =>
  tx.many(
    'audit.unlinked',
    sql`select e.event_id as "eventId", e.organization_id as "organizationId", e.occurred_at as timestamp,
               e.occurred_at = date_trunc('milliseconds', e.occurred_at) as exact, ${canonicalOf('e')} as canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from audit_events e
        left join lateral (${linkOf(reached)}) linked on true
        where ${isAfter(after)}
          ${before === undefined ? sql`` : sql`and e.appended_in < ${before}::xid8`}
          ${last === undefined ? sql`` : sql`and e.appended_in <= ${last}::xid8`}
          and linked.yes is null
        order by e.appended_in, e.occurred_at, e.event_id
        limit ${limit}`,
  );

export const findLastSequences = (
  tx: Queryable,
  organizationIds: readonly string[],
): Promise<{ organizationId: string; sequence: number }[]> =>
  tx.many(
    'audit.lastSequences',
    prepared(sql`
      select wanted.id as "organizationId", l.sequence
      from unnest(${organizationIds}::uuid[]) as wanted (id)
      cross join lateral (
        select sequence from audit_links where organization_id = wanted.id order by sequence desc limit 1
      ) l`),
  );

export const insertLinks = (tx: Tx, links: readonly (Link & { organizationId: string })[]): Promise<number> =>
  tx.run(
    'audit.link',
    prepared(sql`
      insert into audit_links (organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on)
      select organization_id, sequence, event_id, occurred_at, decode(event_hash, 'hex'), decode(hash, 'hex'), linked_on
      from unnest(${listOf(links.map((link) => link.organizationId))}::uuid[],
                  ${listOf(links.map((link) => String(link.sequence)))}::bigint[],
                  ${listOf(links.map((link) => link.eventId))}::uuid[],
                  ${listOf(links.map((link) => link.time))}::timestamptz[],
                  ${listOf(links.map((link) => link.eventHash))}, ${listOf(links.map((link) => link.hash))},
                  ${listOf(links.map((link) => link.linkedOn))}::date[])
           as made (organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on)`),
  );
