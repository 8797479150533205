/**
 * The sequencer's lock: across all nodes, one transaction at a time links. It is a table lock on audit_progress, which needs
 * the privilege to change that table. A process that stops while it holds the lock loses it after the lease: PostgreSQL ends
 * its session. With the session ends the transaction, so the process cannot commit links when it continues.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { DatabaseUnavailable, type Queryable, type Tx } from '../../../kernel/data/db.ts';
import { heldByUnprivileged, tryLockGlobalShared } from '../../../kernel/data/locks.ts';
import { prepared, raw, sql } from '../../../kernel/data/sql.ts';

const table = 'audit_progress';

/** How long to wait for a node of an earlier version: as long as a statement may take. */
const maxWaitMs = 20_000;

/**
 * How long the holder may be idle between two statements. It hashes and signs in between, which takes milliseconds. With the
 * wait of the next sequencer this is less than ten seconds.
 */
export const lockLeaseMs = 5_000;

/**
 * With `timeoutMs`, returns false when a node of an earlier version is linking; without it, waits for that node. Throws when
 * a lock is not free in time (see `isLockTimeout`).
 */
export async function lockSequencer(tx: Tx, clock: Clock, timeoutMs?: number): Promise<boolean> {
  // Nothing can be linked here, and a standby refuses the lock.
  if (await beginLease(tx)) return true;
  // Many short statements: neither the statement timeout nor that of an idle transaction would end them.
  const deadline = clock.now() + maxWaitMs;
  while (!(await isClearOfEarlierVersions(tx))) {
    if (timeoutMs !== undefined) return false;
    if (clock.now() >= deadline) throw lockTimeout();
    await tx.run('audit.lock.wait', sql`select pg_sleep(0.05)`);
  }
  if (timeoutMs !== undefined)
    await tx.run('audit.lock.timeout', raw(`set local lock_timeout = ${timeoutMs}`));
  await tx.run('audit.lock', raw(`lock table ${table} in exclusive mode`));
  return true;
}

/**
 * Ends the session of a holder that reads no longer. While PostgreSQL waits for a client to read a result, its timeouts end
 * nothing. Only sessions of the caller's own role: another role's session is not a node. The holder is found first: in a
 * condition, the planner may call the function for any session. A role without the permission ends none, and the wait goes on.
 */
export const terminateStalledLockHolder = (db: Queryable): Promise<{ pid: number }[]> =>
  db
    .many<{ pid: number }>(
      'audit.lock.stalled',
      sql`with holder as materialized (
            select a.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
            where l.relation = ${table}::regclass and l.mode = 'ExclusiveLock' and l.granted
              and a.datname = current_database() and a.usename = current_user and a.wait_event = 'ClientWrite'
              and a.state_change < clock_timestamp() - make_interval(secs => ${lockLeaseMs / 1_000})
          )
          select pid, pg_terminate_backend(pid) as terminated from holder`,
    )
    .then((ended) => ended.map(({ pid }) => ({ pid })))
    .catch((error) => {
      if (error?.code === insufficientPrivilege) return [];
      throw error;
    });

/**
 * Call it before the commit of links. The lock may have been granted while an unprivileged role held the advisory lock. If
 * that role released it since, a node of an earlier version may be linking now: throws as for a timeout, and that node
 * continues.
 */
export async function confirmSequencerLock(tx: Tx): Promise<void> {
  if (!(await isClearOfEarlierVersions(tx))) throw lockTimeout();
}

/**
 * Earlier versions take only an advisory lock, which any role that can connect may hold. So it counts only when its holder
 * has the privilege to change the table, as a node has.
 */
const isClearOfEarlierVersions = async (tx: Tx): Promise<boolean> =>
  (await tryLockGlobalShared(tx, 'auditSequencer')) ||
  (await heldByUnprivileged(tx, 'auditSequencer', table));

/** Until the end of the transaction, its session has the lease. Returns whether the transaction is read-only. */
async function beginLease(tx: Tx): Promise<boolean> {
  const { readOnly } = await tx.one<{ readOnly: boolean }>(
    'audit.lock.lease',
    prepared(sql`
      select current_setting('transaction_read_only') = 'on' as "readOnly",
             set_config('idle_in_transaction_session_timeout', ${`${lockLeaseMs}`}, true) as lease`),
  );
  return readOnly;
}

const lockNotAvailable = '55P03';
const insufficientPrivilege = '42501';

/** The error that PostgreSQL raises when `lock_timeout` has passed. */
const lockTimeout = () =>
  new DatabaseUnavailable(
    Object.assign(new Error('a session holds the advisory lock of the audit sequencer'), {
      code: lockNotAvailable,
    }),
  );

export const isLockTimeout = (error: unknown): boolean =>
  (error as { cause?: { code?: unknown } } | null)?.cause?.code === lockNotAvailable;
