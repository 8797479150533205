/** The rows of segments (a checkpoint with its links) and of anchors. */
import { bigints, transactionIds, uuids } from '../../../kernel/data/binary-arrays.ts';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { listOf, prepared, raw, type Sql, sql } from '../../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../../kernel/http/page.ts';
import { storedLength } from './hashes.ts';
import { splitProof } from './merkle.ts';
import type { AnchorRow, Checkpoint, CheckpointRow, Tree } from './statements.ts';
import type { ChainHead } from './verify-chain.ts';

/** A checkpoint with its links, and the transactions that appended their events. */
export interface NewSegment extends Checkpoint {
  /** See `storedLength`. */
  readonly records: string;
  readonly firstAppendedIn: string;
  readonly lastAppendedIn: string;
}

/** In the place of the previous hash of a first checkpoint, which has none. */
const noHash = '0'.repeat(64);

/**
 * The segments of one tree, in the order of their leaves. All hashes and records are one binary parameter, from which each
 * row takes its part.
 */
export function insertSegments(tx: Tx, { treeHead, leaves }: Tree<NewSegment>): Promise<number> {
  const segments = leaves.map(({ checkpoint }) => checkpoint);
  const parts: string[] = [];
  const starts: number[] = [];
  let start = 1;
  for (const { checkpoint, proof } of leaves) {
    const { head, previous, records } = checkpoint;
    parts.push(head, previous ?? noHash, proof, records);
    starts.push(start);
    start += 64 + (proof.length + records.length) / 2;
  }
  const bytes = Buffer.from(parts.join(''), 'hex');
  // Otherwise a part is not hexadecimal, and each row after it would get the wrong bytes.
  if (bytes.length !== start - 1) throw new TypeError('a segment is not hexadecimal');
  return tx.run(
    'audit.segments.insert',
    prepared(sql`
      insert into audit_segments
        (organization_id, number, size, taken_at, taken_on, tree, leaf_index, first_appended_in, last_appended_in,
         head, previous, proof, records)
      select organization_id, number, size, taken_at, (taken_at at time zone 'UTC')::date, tree, place - 1, first, last,
             substr(bytes, start::integer, 32), case when number > 1 then substr(bytes, start::integer + 32, 32) end,
             substr(bytes, start::integer + 64, 32 * nodes::integer),
             substr(bytes, start::integer + 64 + 32 * nodes::integer, 56 * links::integer)
      from unnest(${uuids(segments.map(({ organizationId }) => organizationId))}::uuid[],
                  ${bigints(segments.map(({ number }) => number))}::bigint[],
                  ${bigints(segments.map(({ size }) => size))}::bigint[],
                  ${transactionIds(segments.map(({ firstAppendedIn }) => firstAppendedIn))}::xid8[],
                  ${transactionIds(segments.map(({ lastAppendedIn }) => lastAppendedIn))}::xid8[],
                  ${bigints(starts)}::bigint[], ${bigints(leaves.map(({ proof }) => proof.length / 64))}::bigint[],
                  ${bigints(segments.map(({ records }) => records.length / storedLength))}::bigint[])
           with ordinality as made (organization_id, number, size, first, last, start, nodes, links, place),
           (select ${treeHead.at}::timestamptz as taken_at, ${treeHead.number}::bigint as tree,
                   ${bytes}::bytea as bytes) as tree`),
  );
}

/** Of a segment `s` and its tree head `t`. */
const checkpointColumns = sql`
  s.organization_id as "organizationId", s.number, s.size, encode(s.head, 'hex') as head,
  encode(s.previous, 'hex') as previous, s.taken_at as at, coalesce(s.key_id, t.key_id, '') as "keyId",
  coalesce(s.signed, t.signed, '') as signed, s.tree, t.size as "treeSize", s.leaf_index as "leafIndex",
  encode(s.proof, 'hex') as proof`;

/** `limit 1` makes PostgreSQL look up the tree head of each segment. */
const withTreeHead = sql`
  left join lateral (
    select h.key_id, h.signed, h.size from audit_tree_heads h
    where h.number = s.tree and h.taken_on = s.taken_on limit 1
  ) t on true`;

/** The columns of `checkpointColumns`. */
interface Columns extends Omit<CheckpointRow, 'inclusion'> {
  readonly tree: number | null;
  readonly treeSize: number | null;
  readonly leafIndex: number | null;
  readonly proof: string | null;
}

const rowOf = <Row extends Columns>({ tree, treeSize, leafIndex, proof, ...row }: Row) => ({
  ...row,
  inclusion:
    tree === null
      ? null
      : {
          treeHead: tree,
          treeSize: treeSize ?? 0,
          leafIndex: leafIndex ?? -1,
          proof: splitProof(proof ?? ''),
        },
});

const findRow = async (db: Queryable, name: string, query: Sql): Promise<CheckpointRow | undefined> => {
  const row = await db.maybe<Columns>(name, query);
  return row && rowOf(row);
};

/** The newest checkpoint of each of these organizations, taken on the day named for it or later. */
export const findNewestCheckpoints = async (
  tx: Queryable,
  organizations: readonly { id: string; since: string }[],
): Promise<CheckpointRow[]> => {
  const rows = await tx.many<Columns>(
    'audit.heads',
    prepared(sql`
      select ${checkpointColumns}
      from unnest(${listOf(organizations.map(({ id }) => id))}::uuid[],
                  ${listOf(organizations.map(({ since }) => since))}::date[]) as wanted (id, since)
      cross join lateral (
        select organization_id, number, size, head, previous, taken_at, taken_on, key_id, signed, tree, leaf_index, proof
        from audit_segments where organization_id = wanted.id and taken_on >= wanted.since
        order by size desc, number desc, taken_on desc limit 1
      ) s ${withTreeHead}`),
  );
  return rows.map(rowOf);
};

/** A checkpoint with its links. */
export interface SegmentRow extends CheckpointRow {
  readonly takenOn: string;
  /** See `storedLength`. */
  readonly records: string;
}

/** A page ends after this many bytes of records: about a thousand links. Only a longer segment makes it longer. */
const bytesPerPage = 56_000;

/** The segments after a checkpoint, at most `limit`. Empty only at the end of the chain. */
export const readSegments = async (
  db: Queryable,
  organizationId: string,
  after: Pick<ChainHead, 'size' | 'number' | 'at'>,
  limit: number,
): Promise<SegmentRow[]> => {
  const rows = await db.many<Columns & Pick<SegmentRow, 'takenOn' | 'records'>>(
    'audit.segments.read',
    prepared(sql`
      select ${checkpointColumns}, s.taken_on as "takenOn", encode(s.records, 'hex') as records
      from (
        select *, sum(octet_length(records)) over (order by size, number, taken_on) - octet_length(records) as bytes_before
        from (
          select organization_id, number, size, head, previous, taken_at, taken_on, key_id, signed, tree, leaf_index, proof,
                 records
          from audit_segments
          where organization_id = ${organizationId}
            and (size, number, taken_on) > (${after.size}::bigint, ${after.number}::bigint, ${after.at.slice(0, 10)}::date)
          order by size, number, taken_on limit ${limit}
        ) page
      ) s ${withTreeHead}
      where s.bytes_before < ${bytesPerPage}
      order by s.size, s.number, s.taken_on`),
  );
  return rows.map(rowOf);
};

/** The sequence of the newest link; undefined without links. */
export const findSize = async (db: Queryable, organizationId: string): Promise<number | undefined> => {
  const newest = await db.maybe<{ size: number }>(
    'audit.segments.size',
    prepared(
      sql`select size from audit_segments where organization_id = ${organizationId} order by size desc limit 1`,
    ),
  );
  return newest?.size;
};

/** Below every size that a row can have. */
const belowAllSizes = '-9223372036854775808';

/**
 * The segments with links of sequence `after` + 1 to `through`, at most that many. Without `after` it begins at the first row, of
 * any size.
 */
export const readSegmentsBetween = async (
  db: Queryable,
  organizationId: string,
  after: number | undefined,
  { through, limit }: { through: number; limit: number },
): Promise<SegmentRow[]> => {
  const above = String(after ?? belowAllSizes);
  const rows = await db.many<Columns & Pick<SegmentRow, 'takenOn' | 'records'>>(
    'audit.segments.between',
    prepared(sql`
      select ${checkpointColumns}, s.taken_on as "takenOn", encode(s.records, 'hex') as records
      from (
        select *, lag(size, 1, ${above}::bigint) over (order by size, number, taken_on) as size_before
        from (
          select organization_id, number, size, head, previous, taken_at, taken_on, key_id, signed, tree, leaf_index, proof,
                 records
          from audit_segments
          where organization_id = ${organizationId} and size > ${above}::bigint
          order by size, number, taken_on limit ${limit}
        ) page
      ) s ${withTreeHead}
      where s.size_before < ${through}
      order by s.size, s.number, s.taken_on`),
  );
  return rows.map(rowOf);
};

/** Newest first. Numbers have no gaps, so the total follows from the first and the last. */
export async function listCheckpoints(
  db: Queryable,
  organizationId: string,
  page: PageRequest,
): Promise<{ rows: CheckpointRow[]; total: number }> {
  const { total } = await db.one<{ total: number }>(
    'audit.checkpoints.count',
    sql`select coalesce((${edgeOf(organizationId, 'desc')}) - (${edgeOf(organizationId, 'asc')}) + 1, 0) as total`,
  );
  const rows = await db.many<Columns>(
    'audit.checkpoints.list',
    sql`select ${checkpointColumns}
        from (select * from audit_segments where organization_id = ${organizationId}
              order by size desc, number desc, taken_on desc limit ${page.limit} offset ${offsetOf(page)}) s
        ${withTreeHead} order by s.size desc, s.number desc, s.taken_on desc`,
  );
  return { rows: rows.map(rowOf), total };
}

const edgeOf = (organizationId: string, order: 'asc' | 'desc'): Sql =>
  sql`select number from audit_segments where organization_id = ${organizationId} order by size ${raw(order)} limit 1`;

/** The last checkpoint taken before a time; undefined when none was. */
export const lastCheckpointBefore = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  findRow(
    db,
    'audit.checkpoints.before',
    sql`select ${checkpointColumns} from audit_segments s ${withTreeHead}
        where s.organization_id = ${organizationId} and s.taken_at < ${time} and s.taken_on <= ${dayOf(time)}
        order by s.size desc limit 1`,
  );

export const firstCheckpointSince = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  findRow(
    db,
    'audit.checkpoints.since',
    sql`select ${checkpointColumns} from audit_segments s ${withTreeHead}
        where s.organization_id = ${organizationId} and s.taken_at >= ${time} and s.taken_on >= ${dayOf(time)}
        order by s.size limit 1`,
  );

const dayOf = (time: string): Sql => sql`(${time}::timestamptz at time zone 'UTC')::date`;

/** The last checkpoint that covers at most `size` links. */
export const lastCheckpointUpToSize = (
  tx: Queryable,
  organizationId: string,
  size: number,
): Promise<CheckpointRow | undefined> =>
  findRow(
    tx,
    'audit.checkpoints.upTo',
    prepared(sql`select ${checkpointColumns} from audit_segments s ${withTreeHead}
        where s.organization_id = ${organizationId} and s.size <= ${size} order by s.size desc limit 1`),
  );

/** The first checkpoint that covers at least `size` links. */
export const firstCheckpointFromSize = (
  db: Queryable,
  organizationId: string,
  size: number,
): Promise<CheckpointRow | undefined> =>
  findRow(
    db,
    'audit.checkpoints.from',
    prepared(sql`select ${checkpointColumns} from audit_segments s ${withTreeHead}
        where s.organization_id = ${organizationId} and s.size >= ${size} order by s.size limit 1`),
  );

/** The last checkpoint taken before that day. */
export const lastCheckpointBeforeDay = (
  tx: Queryable,
  organizationId: string,
  day: string,
): Promise<CheckpointRow | undefined> =>
  findRow(
    tx,
    'audit.retention.last',
    sql`select ${checkpointColumns} from audit_segments s ${withTreeHead}
        where s.organization_id = ${organizationId} and s.taken_on < ${day}::date
        order by s.size desc limit 1`,
  );

/** The organizations with a checkpoint since that time. */
export async function findChainsGrownSince(tx: Tx, since: string): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.grown',
    sql`select distinct organization_id as id from audit_segments
        where taken_at >= ${since} and taken_on >= ${dayOf(since)}`,
  );
  return rows.map(({ id }) => id);
}

/** A loose index scan: one index look-up per organization. */
export async function findOrganizationsWithChain(
  tx: Queryable,
  { after, limit }: { after?: string | undefined; limit?: number } = {},
): Promise<string[]> {
  const isNext = after === undefined ? sql`true` : sql`organization_id > ${after}`;
  const rows = await tx.many<{ id: string }>(
    'audit.chains',
    sql`with recursive chain as (
          (select organization_id as id from audit_segments where ${isNext} order by organization_id limit 1)
          union all
          select (select organization_id from audit_segments where organization_id > chain.id
                  order by organization_id limit 1)
          from chain where chain.id is not null
        )
        select id from chain where id is not null limit ${limit ?? null}`,
  );
  return rows.map(({ id }) => id);
}

/** Every organization that has an anchor. */
export async function findAnchoredOrganizations(tx: Queryable): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.anchored',
    sql`select distinct organization_id as id from audit_anchors`,
  );
  return rows.map(({ id }) => id);
}

export const newestAnchor = (db: Queryable, organizationId: string): Promise<AnchorRow | undefined> =>
  db.maybe(
    'audit.anchors.newest',
    prepared(sql`select number, taken_at as at, signed from audit_anchors
        where organization_id = ${organizationId} order by number desc limit 1`),
  );

/** The newest anchor of any organization. */
export const newestAnchorOfAll = (
  db: Queryable,
): Promise<(AnchorRow & { readonly organizationId: string }) | undefined> =>
  db.maybe(
    'audit.anchors.newestOfAll',
    sql`select organization_id as "organizationId", number, taken_at as at, signed from audit_anchors
        order by taken_at desc, number desc limit 1`,
  );

export const insertAnchor = (tx: Tx, organizationId: string, row: AnchorRow): Promise<number> =>
  tx.run(
    'audit.anchor',
    sql`insert into audit_anchors (organization_id, number, taken_at, signed)
        values (${organizationId}, ${row.number}, ${row.at}, ${row.signed})`,
  );
