/** The rows of checkpoints and anchors. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../../kernel/http/page.ts';
import type { AnchorRow, CheckpointRow } from './statements.ts';

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

const checkpointColumns = sql`
  organization_id as "organizationId", number, size, encode(head, 'hex') as head, encode(previous, 'hex') as previous,
  taken_at as at, key_id as "keyId", signed`;

/** The newest checkpoint of each of these organizations. */
export const findNewestCheckpoints = (
  tx: Queryable,
  organizationIds: readonly string[],
): Promise<CheckpointRow[]> =>
  tx.many(
    'audit.heads',
    prepared(sql`
      select ${checkpointColumns}
      from unnest(${organizationIds}::uuid[]) as wanted (id)
      cross join lateral (
        select * from audit_checkpoints where organization_id = wanted.id order by number desc limit 1
      ) c`),
  );

export const readCheckpoints = (
  db: Queryable,
  organizationId: string,
  after: number,
  limit: number,
): Promise<(CheckpointRow & { takenOn: string })[]> =>
  db.many(
    'audit.checkpoints.read',
    prepared(sql`
      select ${checkpointColumns}, taken_on as "takenOn" from audit_checkpoints
      where organization_id = ${organizationId} and number > ${after} order by number limit ${limit}`),
  );

/** Newest first. Numbers have no gaps, so the total follows from the first and the last. */
export async function listCheckpoints(
  db: Queryable,
  organizationId: string,
  page: PageRequest,
): Promise<{ rows: CheckpointRow[]; total: number }> {
  const { total } = await db.one<{ total: number }>(
    'audit.checkpoints.count',
    sql`select coalesce(max(number) - min(number) + 1, 0) as total from audit_checkpoints
        where organization_id = ${organizationId}`,
  );
  const rows = await db.many<CheckpointRow>(
    'audit.checkpoints.list',
    sql`select ${checkpointColumns} from audit_checkpoints where organization_id = ${organizationId}
        order by number desc limit ${page.limit} offset ${offsetOf(page)}`,
  );
  return { rows, total };
}

/** The last checkpoint taken before a time; undefined when none was. */
export const lastCheckpointBefore = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  db.maybe(
    'audit.checkpoints.before',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and taken_at < ${time} order by number desc limit 1`,
  );

export const firstCheckpointSince = (
  db: Queryable,
  organizationId: string,
  time: string,
): Promise<CheckpointRow | undefined> =>
  db.maybe(
    'audit.checkpoints.since',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and taken_at >= ${time} order by number limit 1`,
  );

/** The last checkpoint that covers at most `size` links. */
export const lastCheckpointUpToSize = (
  tx: Tx,
  organizationId: string,
  size: number,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.checkpoints.upTo',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and size <= ${size} order by number desc limit 1`,
  );

/** The first checkpoint after the number `after` that covers at least `size` links. */
export const firstCheckpointFromSize = (
  tx: Tx,
  organizationId: string,
  after: number,
  size: number,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.checkpoints.from',
    sql`select ${checkpointColumns} from audit_checkpoints
        where organization_id = ${organizationId} and number > ${after} and size >= ${size} order by number limit 1`,
  );

/** The last checkpoint taken before that day. */
export const lastCheckpointBeforeDay = (
  tx: Tx,
  organizationId: string,
  day: string,
): Promise<CheckpointRow | undefined> =>
  tx.maybe(
    'audit.retention.last',
    sql`select ${checkpointColumns} from audit_checkpoints where organization_id = ${organizationId} and taken_on < ${day}::date
        order by number desc limit 1`,
  );

/** The organizations with a checkpoint since that time. */
export async function findChainsGrownSince(tx: Tx, since: string): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.grown',
    sql`select distinct organization_id as id from audit_checkpoints where taken_at >= ${since}`,
  );
  return rows.map(({ id }) => id);
}

/** A loose index scan: one index look-up per organization. */
export async function findOrganizationsWithChain(tx: Tx): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.chains',
    sql`with recursive chain as (
          (select organization_id as id from audit_checkpoints order by organization_id limit 1)
          union all
          select (select organization_id from audit_checkpoints where organization_id > chain.id
                  order by organization_id limit 1)
          from chain where chain.id is not null
        )
        select id from chain where id is not null`,
  );
  return rows.map(({ id }) => id);
}

/** Every organization that has an anchor. */
export async function findAnchoredOrganizations(tx: Tx): Promise<string[]> {
  const rows = await tx.many<{ id: string }>(
    'audit.anchored',
    sql`select distinct organization_id as id from audit_anchors`,
  );
  return rows.map(({ id }) => id);
}

export const newestAnchor = (db: Queryable, organizationId: string): Promise<AnchorRow | undefined> =>
  db.maybe(
    'audit.anchors.newest',
    sql`select number, taken_at as at, signed from audit_anchors
        where organization_id = ${organizationId} order by number desc limit 1`,
  );

export const insertAnchor = (tx: Tx, organizationId: string, row: AnchorRow): Promise<number> =>
  tx.run(
    'audit.anchor',
    sql`insert into audit_anchors (organization_id, number, taken_at, signed)
        values (${organizationId}, ${row.number}, ${row.at}, ${row.signed})`,
  );
