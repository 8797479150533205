/** The rows that the sequencer reads and writes, apart from segments: its progress, and events without a link. */
import type { Tx } from '../../../kernel/data/db.ts';
import { prepared, type Sql, sql } from '../../../kernel/data/sql.ts';
import { canonicalOf } from './canonical-store.ts';

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
  /** The first moment (ISO 8601) after the days that were closed for the archive: no link is made before. */
  readonly openSince: string;
}

/** For the row of audit_progress in the snapshot `now`. */
export const isRestored = sql`
  (audit_progress.xmin <> written_in::xid or settled_before > pg_snapshot_xmax(now))`;

/** Until the end of the transaction: planning for the partitions of 90 days costs more than most of these statements. */
export const forceGenericPlan = (tx: Tx): Promise<number> =>
  tx.run('audit.plan', sql`set local plan_cache_mode = force_generic_plan`);

/** The row is no evidence. If it was deleted, a new one makes the sequencer process the whole log again. */
export async function readProgress(tx: Tx): Promise<SequencerProgress> {
  const read = () =>
    tx.maybe<SequencerProgress>(
      'audit.horizon',
      prepared(sql`
        select settled_before::text as "settledBefore", reached::text, now::text as snapshot,
               pg_snapshot_xmin(now)::text as "oldestOpen", pg_snapshot_xmax(now)::text as next,
               ${isRestored} as restored,
               coalesce((select (closed_through + 1)::text || 'T00:00:00.000Z' from audit_archive_state), '') as "openSince"
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
  /** The row stores the text, as those of earlier versions do. Otherwise SQL has built it from the columns. */
  readonly hasStoredText: boolean;
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
interface TransactionBounds {
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
 * Common table expressions for events that may have a link. `candidates` is a query with the columns organization_id,
 * event_id, occurred_at and appended_in. A link is in a segment of the event's organization whose transactions enclose that
 * of the event; it is made on the day of its event or later, and a day is allowed for clock skew. Candidates are grouped by
 * their transactions, so that one with a forged id does not make PostgreSQL read the whole chain. `offset 0` makes it look up
 * the segments of each group by the index, also when its statistics are old.
 *
 * `links` has the links of these segments, and `linked` one array with the keys of those of candidates. PostgreSQL expects a thousand
 * links in each segment, and few candidates: it would join `links` in hundreds of temporary files, and `linked` by comparing each
 * event with each of its rows. For an array it always expects a few elements, and hashes them.
 */
export const withLinks = (candidates: Sql): Sql => sql`
  candidates as materialized (${candidates}),
  links as materialized (
    select s.organization_id, s.size, substr(s.records, 56 * place + 1, 24) as key
    from (
      select wanted.organization_id, found.size, found.records || ''::bytea as records
      from (
        select organization_id, (array_agg(appended_in order by appended_in))[1] as lowest,
               (array_agg(appended_in order by appended_in desc))[1] as highest,
               (min(occurred_at) at time zone 'UTC')::date - 1 as since
        from candidates group by organization_id, div(appended_in::text::numeric, 10000)
      ) wanted
      cross join lateral (
        select size, records from audit_segments
        where organization_id = wanted.organization_id and last_appended_in >= wanted.lowest
          and first_appended_in <= wanted.highest and taken_on >= wanted.since
        offset 0
      ) found
      offset 0
    ) s
    cross join lateral generate_series(0, octet_length(s.records) / 56 - 1) as place
  ),
  linked as materialized (
    select array_agg(uuid_send(organization_id) || key) as keys from (
      select organization_id, uuid_send(event_id) || timestamptz_send(occurred_at) as key from candidates
      intersect
      select organization_id, key from links
    ) both_have
  )`;

/** Whether the event `e` has no link. Of events that are no candidates the caller knows that they have none. */
export const isNotLinked = sql`
  uuid_send(e.organization_id) || uuid_send(e.event_id) || timestamptz_send(e.occurred_at)
    not in (select unnest(keys) from linked)`;

/** The highest transaction id. */
const highest = '18446744073709551615';

/** Events after the cursor that have no link. */
export const findUnlinked = (
  tx: Tx,
  after: AppendCursor,
  { before, last, reached }: TransactionBounds,
  limit: number,
): Promise<UnlinkedEvent[]> => {
  const isInBatch = sql`${isAfter(after)} and e.appended_in < ${before ?? highest}::xid8 and e.appended_in <= ${last ?? highest}::xid8`;
  const mayBeLinked = sql`
    select e.organization_id, e.event_id, e.occurred_at, e.appended_in from audit_events e
    where ${isInBatch} and e.appended_in <= ${reached ?? highest}::xid8`;
  return tx.many(
    'audit.unlinked',
    prepared(sql`with ${withLinks(mayBeLinked)}
        select e.event_id as "eventId", e.organization_id as "organizationId", e.occurred_at as timestamp,
               e.occurred_at = date_trunc('milliseconds', e.occurred_at) as exact, ${canonicalOf('e')} as canonical,
               e.canonical is not null as "hasStoredText", e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from audit_events e
        where ${isInBatch} and ${isNotLinked}
        order by e.appended_in, e.occurred_at, e.event_id
        limit ${limit}`),
  );
};
