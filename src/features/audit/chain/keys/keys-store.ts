/** The rows of the signing keys and of the seals that they share. */

import type { KeyRow } from '../../../../../sdk/typescript/src/audit/trusted-keys.ts';
import type { Queryable, Tx } from '../../../../kernel/data/db.ts';
import { join, prepared, raw, sql } from '../../../../kernel/data/sql.ts';

export async function hasKeysTable(db: Queryable): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'audit.keys.table',
    sql`select to_regclass('audit_keys') is not null as found`,
  );
  return found;
}

/** The tables of the log, apart from audit_keys, that have any row. */
export async function findTablesWithRows(tx: Tx): Promise<string[]> {
  const tables = ['audit_events', 'audit_segments', 'audit_tree_heads', 'audit_anchors'];
  const rows = await tx.many<{ name: string }>(
    'audit.recorded',
    join(
      tables.map((table) => sql`select ${table}::text as name where exists (select from ${raw(table)})`),
      ' union all ',
    ),
  );
  return rows.map(({ name }) => name);
}

/** The key that signed last: the newest tree head, or, before the first, the newest checkpoint. */
export async function newestCheckpointKey(tx: Tx): Promise<string | undefined> {
  const newest = await tx.maybe<{ keyId: string }>(
    'audit.checkpoints.key',
    sql`select key_id as "keyId" from (
          (select 1 as place, key_id from audit_tree_heads order by number desc limit 1)
          union all
          (select 2, key_id from audit_segments
           where key_id is not null and not exists (select from audit_tree_heads) order by taken_at desc limit 1)
        ) signed order by place limit 1`,
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

/** When the key signed the log for the first time, in seconds since 1970; undefined when it has not. */
export async function findFirstUse(db: Queryable, keyId: string): Promise<number | undefined> {
  const { since } = await db.one<{ since: number | null }>(
    'audit.keys.firstUse',
    sql`select extract(epoch from min(taken_at))::float8 as since from audit_keys where key_id = ${keyId}`,
  );
  return since ?? undefined;
}

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

export async function hasSharedSealsTable(db: Queryable): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'audit.sharedSeals.table',
    sql`select to_regclass('audit_shared_seals') is not null as found`,
  );
  return found;
}

/** The seals that this key shared, and those that were shared with it. */
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
