/** What the sequencer reads and writes. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { join, listOf, prepared, raw, type Sql, sql } from '../../../kernel/data/sql.ts';
import type { Link } from './hashes.ts';
import type { KeyRow } from './keys/trusted-keys.ts';
import type { Checkpoint } from './statements.ts';

export interface Horizon {
  /** Every event of an earlier transaction has been looked at. */
  readonly settledBefore: string;
  /** No event of a later transaction has a link yet. */
  readonly reached: string;
  /** What was visible when this was read; the oldest transaction still open then, and the first not begun. */
  readonly seen: string;
  readonly oldestOpen: string;
  readonly next: string;
  /**
   * It was not the sequencer that put this here, but a restore, or somebody by hand: then the ids say nothing, and events of any id may
   * be waiting. Transactions of the server that the dump came from may have the same ids as those of this one, or later ones.
   */
  readonly restored: boolean;
}

/** Of the row of audit_progress in the snapshot `now`. */
export const isRestored = sql`
  (audit_progress.xmin <> written_in::xid or settled_before > pg_snapshot_xmax(now))`;

/** The row is no evidence: where it was deleted, a new one sends the sequencer over the whole log. */
export async function readHorizon(tx: Tx): Promise<Horizon> {
  const read = () =>
    tx.maybe<Horizon>(
      'audit.horizon',
      prepared(sql`
        select settled_before::text as "settledBefore", reached::text, now::text as seen,
               pg_snapshot_xmin(now)::text as "oldestOpen", pg_snapshot_xmax(now)::text as next,
               ${isRestored} as restored
        from audit_progress, pg_current_snapshot() as now`),
    );
  const horizon = await read();
  if (horizon) return horizon;
  await tx.run(
    'audit.progress.insert',
    sql`insert into audit_progress (settled_before, reached) values ('0', '0')`,
  );
  return (await read()) as Horizon;
}

export const writeProgress = (tx: Tx, settledBefore: string, reached: string): Promise<number> =>
  tx.run(
    'audit.progress',
    prepared(
      sql`update audit_progress set settled_before = ${settledBefore}::xid8, reached = ${reached}::xid8,
                                    written_in = pg_current_xact_id()`,
    ),
  );

/** The last transaction that any event claims to come from. */
export async function findHighest(tx: Tx): Promise<string> {
  const highest = await tx.maybe<{ appendedIn: string }>(
    'audit.highest',
    sql`select appended_in::text as "appendedIn" from audit_events e order by e.appended_in desc limit 1`,
  );
  return highest?.appendedIn ?? '0';
}

export interface Candidate {
  readonly eventId: string;
  readonly organizationId: string;
  readonly timestamp: string;
  /** An honest row has no microseconds, which its timestamp does not show. */
  readonly exact: boolean;
  readonly canonical: string;
  readonly appendedIn: string;
  readonly seal: string;
}

export interface Cursor {
  readonly appendedIn: string;
  readonly timestamp: string;
  readonly eventId: string;
}

/** Undefined is no bound. */
export interface Bounds {
  readonly before: string | undefined;
  readonly last: string | undefined;
  readonly reached: string | undefined;
}

/** The columns are `e`'s. The first condition is the index's. */
const isBehind = ({ appendedIn, timestamp, eventId }: Cursor): Sql =>
  sql`e.appended_in >= ${appendedIn}::xid8
      and (e.appended_in, e.occurred_at, e.event_id) > (${appendedIn}::xid8, ${timestamp}::timestamptz, ${eventId}::uuid)`;

/** Where so many events end, so that what is sorted is not all that is waiting. */
export async function endOfBatch(
  tx: Tx,
  after: Cursor,
  before: string | undefined,
  events: number,
): Promise<string | undefined> {
  const end = await tx.maybe<{ appendedIn: string }>(
    'audit.unlinked.end',
    sql`select e.appended_in::text as "appendedIn" from audit_events e
        where ${isBehind(after)} ${before === undefined ? sql`` : sql`and e.appended_in < ${before}::xid8`}
        order by e.appended_in offset ${events} limit 1`,
  );
  return end?.appendedIn;
}

/**
 * The link of `e`, if `yes`. It is made on the day of its event or later; a day's allowance is for clocks that differ. `limit 1`
 * makes it a look-up for each event, whatever the planner thinks of the tables.
 */
export const linkOf = (reached: string | undefined): Sql => sql`
  select true as yes from audit_links l
  where ${reached === undefined ? sql`` : sql`e.appended_in <= ${reached}::xid8 and`}
        l.event_id = e.event_id and l.linked_on >= (e.occurred_at at time zone 'UTC')::date - 1
  limit 1`;

/** Events behind the cursor that have no link yet. */
export const findUnlinked = (
  tx: Tx,
  after: Cursor,
  { before, last, reached }: Bounds,
  atMost: number,
): Promise<Candidate[]> =>
  tx.many(
    'audit.unlinked',
    sql`select e.event_id as "eventId", e.organization_id as "organizationId", e.occurred_at as timestamp,
               e.occurred_at = date_trunc('milliseconds', e.occurred_at) as exact, e.canonical,
               e.appended_in::text as "appendedIn", coalesce(encode(e.seal, 'hex'), '') as seal
        from audit_events e
        left join lateral (${linkOf(reached)}) linked on true
        where ${isBehind(after)}
          ${before === undefined ? sql`` : sql`and e.appended_in < ${before}::xid8`}
          ${last === undefined ? sql`` : sql`and e.appended_in <= ${last}::xid8`}
          and linked.yes is null
        order by e.appended_in, e.occurred_at, e.event_id
        limit ${atMost}`,
  );

export interface CheckpointRow extends Checkpoint {
  readonly keyId: string;
  readonly signed: string;
}

/** The newest checkpoint of each of these organizations. */
export const findHeads = (tx: Queryable, organizationIds: readonly string[]): Promise<CheckpointRow[]> =>
  tx.many(
    'audit.heads',
    prepared(sql`
      select c.organization_id as "organizationId", c.number, c.size, encode(c.head, 'hex') as head,
             encode(c.previous, 'hex') as previous, c.taken_at as at, c.key_id as "keyId", c.signed
      from unnest(${organizationIds}::uuid[]) as asked (id)
      cross join lateral (
        select * from audit_checkpoints where organization_id = asked.id order by number desc limit 1
      ) c`),
  );

export const findLastSequences = (
  tx: Queryable,
  organizationIds: readonly string[],
): Promise<{ organizationId: string; sequence: number }[]> =>
  tx.many(
    'audit.lastSequences',
    prepared(sql`
      select asked.id as "organizationId", l.sequence
      from unnest(${organizationIds}::uuid[]) as asked (id)
      cross join lateral (
        select sequence from audit_links where organization_id = asked.id order by sequence desc limit 1
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

export const insertCheckpoints = (tx: Tx, rows: readonly CheckpointRow[]): Promise<number> =>
  tx.run(
    'audit.checkpoint',
    prepared(sql`
      insert into audit_checkpoints
        (organization_id, number, size, head, previous, taken_at, taken_on, key_id, signed)
      select organization_id, number, size, decode(head, 'hex'), decode(previous, 'hex'), taken_at,
             (taken_at at time zone 'UTC')::date, key_id, signed
      from unnest(${rows.map((row) => row.organizationId)}::uuid[], ${rows.map((row) => row.number)}::bigint[],
                  ${rows.map((row) => row.size)}::bigint[], ${rows.map((row) => row.head)}::text[],
                  ${rows.map((row) => row.previous)}::text[], ${rows.map((row) => row.at)}::timestamptz[],
                  ${rows.map((row) => row.keyId)}::text[], ${rows.map((row) => row.signed)}::text[])
           as made (organization_id, number, size, head, previous, taken_at, key_id, signed)`),
  );

export async function hasKeys(db: Queryable): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'audit.keys.table',
    sql`select to_regclass('audit_keys') is not null as found`,
  );
  return found;
}

/** The tables of the log that hold any row, the keys' own aside. */
export async function findRecorded(tx: Tx): Promise<string[]> {
  const tables = ['audit_events', 'audit_links', 'audit_checkpoints', 'audit_anchors'];
  const rows = await tx.many<{ name: string }>(
    'audit.recorded',
    join(
      tables.map((table) => sql`select ${table}::text as name where exists (select from ${raw(table)})`),
      ' union all ',
    ),
  );
  return rows.map(({ name }) => name);
}

/** The key that signed last, in whichever chain. */
export async function newestCheckpointKey(tx: Tx): Promise<string | undefined> {
  const newest = await tx.maybe<{ keyId: string }>(
    'audit.checkpoints.key',
    sql`select key_id as "keyId" from audit_checkpoints order by taken_at desc limit 1`,
  );
  return newest?.keyId;
}

/** Whether an event since then has a seal with this tag. */
export async function hasSealed(tx: Tx, tag: string, since: Date): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(
    'audit.sealed',
    sql`select exists (
          select from audit_events where occurred_at > ${since} and substr(seal, 1, 4) = decode(${tag}, 'hex')
        ) as found`,
  );
  return found;
}

/** The newest first. */
export const readKeys = (db: Queryable): Promise<KeyRow[]> =>
  db.many(
    'audit.keys',
    prepared(
      sql`select number, key_id as "keyId", taken_at as at, signed from audit_keys order by number desc`,
    ),
  );

export const insertKey = (tx: Tx, row: KeyRow): Promise<number> =>
  tx.run(
    'audit.keys.insert',
    sql`insert into audit_keys (number, key_id, taken_at, signed)
        values (${row.number}, ${row.keyId}, ${row.at}, ${row.signed})`,
  );

export interface SharedSealRow {
  readonly keyId: string;
  readonly recipient: string;
  readonly signed: string;
}

export async function hasSharedSeals(db: Queryable): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'audit.sharedSeals.table',
    sql`select to_regclass('audit_shared_seals') is not null as found`,
  );
  return found;
}

/** Those that this key has shared, and those that were shared with it. */
export const readSharedSeals = (db: Queryable, keyId: string): Promise<SharedSealRow[]> =>
  db.many(
    'audit.sharedSeals',
    prepared(
      sql`select key_id as "keyId", recipient, signed from audit_shared_seals
          where ${keyId} in (key_id, recipient) order by number`,
    ),
  );

export const insertSharedSeal = (tx: Tx, row: SharedSealRow): Promise<number> =>
  tx.run(
    'audit.sharedSeals.insert',
    sql`insert into audit_shared_seals (key_id, recipient, signed)
        values (${row.keyId}, ${row.recipient}, ${row.signed})`,
  );
