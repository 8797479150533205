/** Advisory locks, all in one table so that no two meanings share a number. Held until the transaction ends. */
import type { Tx } from './db.ts';
import { sql } from './sql.ts';

const keys = {
  migrations: 7_263_544_001,
  auditPartitions: 7_263_544_002,
  bootstrap: 7_263_544_003,
  auditSequencer: 7_263_544_004,
  streamKafka: 7_263_544_011,
  streamNats: 7_263_544_012,
} as const;

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
