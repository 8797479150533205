/** Advisory locks, all numbered in one table so that no two share a number. Held until the transaction ends. */
import type { Queryable, Tx } from './db.ts';
import { listOf, prepared, sql } from './sql.ts';

const keys = {
  migrations: 7_263_544_001,
  auditPartitions: 7_263_544_002,
  bootstrap: 7_263_544_003,
  auditSequencer: 7_263_544_004,
  usageCompaction: 7_263_544_005,
  instanceLog: 7_263_544_007,
  streamKafka: 7_263_544_011,
  streamNats: 7_263_544_012,
} as const;

/**
 * Kinds of rows, each row with a lock of its own. Two ids may share a lock by a hash collision: they then wait for each other.
 * Triggers also lock agents exclusively (migration 0016).
 */
const kinds = {
  tokenQuota: 1,
  agent: 2,
  delegationTree: 3,
  trustPolicy: 4,
  resource: 5,
  agentEmail: 6,
  approvalsOfOrganization: 7,
  signalsOfOrganization: 8,
} as const;

/** One transaction at a time across all nodes; the others wait. */
export async function lockGlobal(tx: Tx, name: keyof typeof keys): Promise<void> {
  await tx.run(`lock.${name}`, sql`select pg_advisory_xact_lock(${keys[name]})`);
}

/** False when another transaction holds it. */
export async function tryLockGlobal(tx: Tx, name: keyof typeof keys): Promise<boolean> {
  const { taken } = await tx.one<{ taken: boolean }>(
    `lock.${name}.try`,
    sql`select pg_try_advisory_xact_lock(${keys[name]}) as taken`,
  );
  return taken;
}

/** Shared with others that take it so; false when a transaction holds it exclusively, or waits to. */
export async function tryLockGlobalShared(tx: Tx, name: keyof typeof keys): Promise<boolean> {
  const { taken } = await tx.one<{ taken: boolean }>(
    `lock.${name}.shared.try`,
    sql`select pg_try_advisory_xact_lock_shared(${keys[name]}) as taken`,
  );
  return taken;
}

/** Whether a role that may not update the table holds the lock: an advisory lock needs no privilege. */
export async function heldByUnprivileged(tx: Tx, name: keyof typeof keys, table: string): Promise<boolean> {
  const { held } = await tx.one<{ held: boolean }>(
    `lock.${name}.holders`,
    sql`select exists (
          select from pg_locks l join pg_stat_activity a on a.pid = l.pid
          where l.locktype = 'advisory' and l.granted and l.objsubid = 1
            and l.database = (select oid from pg_database where datname = current_database())
            and l.classid = (${keys[name]}::bigint >> 32)::oid
            and l.objid = (${keys[name]}::bigint & 4294967295)::oid
            and not has_table_privilege(a.usesysid, ${table}, 'update')
        ) as held`,
  );
  return held;
}

/**
 * Row locks are fair only behind these: PostgreSQL lets a new shared row lock overtake a waiting exclusive one, so a steady stream of
 * requests would starve the writer. Advisory locks are granted in the order of arrival. Take them before the rows.
 */
export const lockShared = (tx: Queryable, kind: LockKind, ids: readonly string[]): Promise<void> =>
  lockRows(tx, kind, ids, 'shared');

export const lockExclusive = (tx: Queryable, kind: LockKind, ids: readonly string[]): Promise<void> =>
  lockRows(tx, kind, ids, 'exclusive');

/** Does not wait: returns the ids that could not be locked, because another transaction holds them or waits for them. */
export const tryLockShared = (tx: Queryable, kind: LockKind, ids: readonly string[]): Promise<Set<string>> =>
  tryLockRows(tx, kind, ids, 'shared');

export const tryLockExclusive = (
  tx: Queryable,
  kind: LockKind,
  ids: readonly string[],
): Promise<Set<string>> => tryLockRows(tx, kind, ids, 'exclusive');

type LockKind = keyof typeof kinds;
export type LockMode = 'shared' | 'exclusive';

const lockOf = (kind: LockKind) => sql`${kinds[kind]}::int, hashtext(id)`;

/** In one order, so that two transactions do not deadlock. */
export async function lockRows(
  tx: Queryable,
  kind: LockKind,
  ids: readonly string[],
  mode: LockMode,
): Promise<void> {
  const inOrder = [...new Set(ids.map((id) => id.toLowerCase()))].sort();
  await tx.many(
    `lock.${kind}.${mode}`,
    prepared(
      mode === 'exclusive'
        ? sql`select pg_advisory_xact_lock(${lockOf(kind)}) from unnest(${inOrder}::text[]) as wanted (id)`
        : sql`select pg_advisory_xact_lock_shared(${lockOf(kind)}) from unnest(${inOrder}::text[]) as wanted (id)`,
    ),
  );
}

async function tryLockRows(
  tx: Queryable,
  kind: LockKind,
  ids: readonly string[],
  mode: LockMode,
): Promise<Set<string>> {
  const rows = await tx.many<{ id: string }>(
    `lock.${kind}.${mode}.try`,
    prepared(
      mode === 'exclusive'
        ? sql`select id from unnest(${listOf(ids)}) as wanted (id) where not pg_try_advisory_xact_lock(${lockOf(kind)})`
        : sql`select id from unnest(${listOf(ids)}) as wanted (id) where not pg_try_advisory_xact_lock_shared(${lockOf(kind)})`,
    ),
  );
  return new Set(rows.map(({ id }) => id));
}
