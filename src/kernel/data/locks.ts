/** Advisory locks, all in one table so that no two meanings share a number. Held until the transaction ends. */
import type { Queryable, Tx } from './db.ts';
import { listOf, prepared, sql } from './sql.ts';

const keys = {
  migrations: 7_263_544_001,
  auditPartitions: 7_263_544_002,
  bootstrap: 7_263_544_003,
  auditSequencer: 7_263_544_004,
  usageTidy: 7_263_544_005,
  streamKafka: 7_263_544_011,
  streamNats: 7_263_544_012,
} as const;

/**
 * Of things that come in numbers, each with a lock of its own. Two may share one by chance: they then wait for each other.
 * Agents are taken alone by triggers, too (migration 0016).
 */
const kinds = { tokenQuota: 1, agent: 2, delegationTree: 3, trustPolicy: 4 } as const;

/** One transaction at a time across all nodes; the others wait. */
export async function takeLock(tx: Tx, name: keyof typeof keys): Promise<void> {
  await tx.run(`lock.${name}`, sql`select pg_advisory_xact_lock(${keys[name]})`);
}

/** False when another transaction holds it. */
export async function tryLock(tx: Tx, name: keyof typeof keys): Promise<boolean> {
  const { taken } = await tx.one<{ taken: boolean }>(
    `lock.${name}.try`,
    sql`select pg_try_advisory_xact_lock(${keys[name]}) as taken`,
  );
  return taken;
}

/** Shared with others that take it so; false when a transaction holds it exclusively, or waits to. */
export async function tryLockShared(tx: Tx, name: keyof typeof keys): Promise<boolean> {
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

const lockOf = (kind: keyof typeof kinds) => sql`${kinds[kind]}::int, hashtext(id)`;

/**
 * Asked before rows are held, by many together or by one alone. PostgreSQL lets whoever shares a row in past somebody who waits to
 * have it alone, so while requests keep coming that one would never have its turn. Here everybody has theirs in the order
 * they came.
 */
export async function takeTurn(
  tx: Queryable,
  kind: keyof typeof kinds,
  ids: readonly string[],
  how: 'together' | 'alone',
): Promise<void> {
  const inOrder = [...new Set(ids.map((id) => id.toLowerCase()))].sort();
  await tx.many(
    `lock.${kind}.${how}`,
    prepared(
      how === 'alone'
        ? sql`select pg_advisory_xact_lock(${lockOf(kind)}) from unnest(${inOrder}::text[]) as asked (id)`
        : sql`select pg_advisory_xact_lock_shared(${lockOf(kind)}) from unnest(${inOrder}::text[]) as asked (id)`,
    ),
  );
}

/** The same without waiting: answers who cannot be had now, because somebody else has or awaits them. */
export async function tryTurn(
  tx: Queryable,
  kind: keyof typeof kinds,
  ids: readonly string[],
  how: 'together' | 'alone',
): Promise<Set<string>> {
  const rows = await tx.many<{ id: string }>(
    `lock.${kind}.${how}.try`,
    prepared(
      how === 'alone'
        ? sql`select id from unnest(${listOf(ids)}) as asked (id) where not pg_try_advisory_xact_lock(${lockOf(kind)})`
        : sql`select id from unnest(${listOf(ids)}) as asked (id) where not pg_try_advisory_xact_lock_shared(${lockOf(kind)})`,
    ),
  );
  return new Set(rows.map(({ id }) => id));
}
