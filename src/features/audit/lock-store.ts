/**
 * The sequencer's lock: one transaction at a time links, across all nodes. It is a lock on the table audit_progress, which
 * needs the privilege to change that table.
 */
import type { Tx } from '../../kernel/db.ts';
import { heldByUnprivileged, tryLockShared } from '../../kernel/locks.ts';
import { raw, sql } from '../../kernel/sql.ts';

const table = 'audit_progress';

/**
 * Answers false when a node of an earlier version is linking and `timeoutMs` is given; without it, waits. Throws when the table stays
 * locked for that long (see `isLockTimeout`).
 */
export async function lockSequencer(tx: Tx, timeoutMs?: number): Promise<boolean> {
  // Nothing can be linked there, and a standby refuses the lock.
  if (await isReadOnly(tx)) return true;
  while (!(await isClearOfEarlierVersions(tx))) {
    if (timeoutMs !== undefined) return false;
    await tx.run('audit.lock.wait', sql`select pg_sleep(0.05)`);
  }
  if (timeoutMs !== undefined)
    await tx.run('audit.lock.timeout', raw(`set local lock_timeout = ${timeoutMs}`));
  await tx.run('audit.lock', raw(`lock table ${table} in exclusive mode`));
  return true;
}

/**
 * Earlier versions take an advisory lock alone. Every role that can connect may hold that one, so it counts only where its
 * holder could be a node of ours: may it change the table?
 */
const isClearOfEarlierVersions = async (tx: Tx): Promise<boolean> =>
  (await tryLockShared(tx, 'auditSequencer')) || (await heldByUnprivileged(tx, 'auditSequencer', table));

async function isReadOnly(tx: Tx): Promise<boolean> {
  const { readOnly } = await tx.one<{ readOnly: boolean }>(
    'audit.lock.mode',
    sql`select current_setting('transaction_read_only') = 'on' as "readOnly"`,
  );
  return readOnly;
}

/** A lock was not to be had in time. */
export const isLockTimeout = (error: unknown): boolean =>
  (error as { cause?: { code?: unknown } } | null)?.cause?.code === '55P03';
