/**
 * Audit: the log of what happened, one row per event, written in the transaction of the change itself, and read by whoever
 * may read it.
 * It owns `audit_events` and its day partitions. What happened is said by the other features through the ledger.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import type { LedgerListener } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/log.ts';
import type { Loop } from '../../kernel/loops.ts';
import type { RouteEntry } from '../../kernel/route.ts';
import { createPartitionLoop, ensurePartitions } from './loops.ts';
import { createAuditReader } from './read.ts';
import { auditRoutes } from './routes.ts';
import { append } from './store.ts';

export interface AuditDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Audit {
  readonly routes: readonly RouteEntry[];
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /** Must have run before the first event is recorded: makes today's partition and some ahead. */
  prepare(): Promise<void>;
}

export function createAudit(deps: AuditDeps): Audit {
  return {
    routes: auditRoutes(createAuditReader(deps)),
    listener: { inTransaction: append },
    loops: [createPartitionLoop(deps)],
    prepare: () => ensurePartitions(deps),
  };
}
