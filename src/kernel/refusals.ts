/**
 * Refusals in the audit log. Each is recorded before the response; concurrent ones share a commit. Refusals of unauthenticated
 * requests are limited per organization and minute, because anyone can cause them. Those beyond the limit are counted, and one
 * event per organization and minute states the number.
 */
import { limits } from '../contract/limits.ts';
import type { Clock } from './clock.ts';
import { createBatcher } from './concurrency/batcher.ts';
import type { Loop } from './concurrency/loops.ts';
import type { Db, Tx } from './data/db.ts';
import { sql } from './data/sql.ts';
import type { LedgerEntry } from './domain-event.ts';
import { nilUuid } from './ids.ts';
import type { Ledger } from './ledger.ts';
import type { Metrics } from './observability/metrics.ts';
import { minuteMs } from './refusal-limit.ts';

export type RecordRefusal = (entry: LedgerEntry) => Promise<void>;

export const createRecordRefusal = ({
  db,
  ledger,
  metrics,
}: {
  db: Db;
  ledger: Ledger;
  metrics: Metrics;
}): RecordRefusal =>
  createBatcher({
    name: 'refusals.record',
    run: async (entries: readonly LedgerEntry[]) => {
      await db.transaction((tx) => ledger.recordAll(tx, entries));
      return entries.map(() => undefined);
    },
    key: ({ subject }) => subject.organizationId,
    maxBatch: 100,
    concurrency: 1,
    maxQueue: 1_000,
    metrics,
  });

interface RefusalCount {
  readonly organizationId: string;
  readonly minute: string;
  readonly refused: number;
  readonly lastAgentId: string;
  readonly lastReason: string;
}

/** For clock skew: a node whose clock is late may still count for the previous minute. */
const graceMs = minuteMs;
const maxRows = 500;

const worker = {
  requestId: 'refusals-suppressed',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign worker',
  agentId: nilUuid,
};

/** Records `refusals.suppressed` for each organization and minute over the limit. */
export const createRefusalsLoop = (deps: {
  db: Db;
  clock: Clock;
  ledger: Ledger;
  metrics: Metrics;
}): Loop => ({
  name: 'refusals-suppressed',
  everyMs: 15_000,
  async run(signal) {
    while (!signal.aborted && (await summarize(deps)) >= maxRows);
    await deleteEventCounts(deps.db, new Date(deps.clock.now() - minuteMs - graceMs));
  },
});

function summarize({
  db,
  clock,
  ledger,
  metrics,
}: Parameters<typeof createRefusalsLoop>[0]): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await takeCounts(tx, new Date(clock.now() - minuteMs - graceMs));
    const overLimit = rows
      .map((row) => ({ ...row, suppressed: row.refused - limits.refusalsPerMinute }))
      .filter(({ suppressed }) => suppressed > 0);
    await ledger.recordAll(
      tx,
      overLimit.map(({ organizationId, minute, suppressed, lastAgentId, lastReason }) => ({
        actor: worker,
        type: 'refusals.suppressed',
        subject: {
          organizationId,
          agentId: nilUuid,
          outcome: 'failure',
          metadata: { suppressed, minute, lastAgentId, lastReason },
        },
      })),
    );
    tx.afterCommit(() => {
      for (const { suppressed } of overLimit)
        metrics.count('service_audit_refusals_suppressed_total', {}, suppressed);
    });
    return rows.length;
  });
}

/** Of kernel/delivery/refusal-events.ts. */
const deleteEventCounts = (db: Db, before: Date): Promise<number> =>
  db.run('refusals.deleteEventCounts', sql`delete from refusal_event_counts where minute <= ${before}`);

const takeCounts = (tx: Tx, before: Date): Promise<RefusalCount[]> =>
  tx.many(
    'refusals.take',
    sql`delete from refusal_counts where ctid = any (array(
          select ctid from refusal_counts where minute <= ${before}
          order by minute limit ${maxRows} for update skip locked))
        returning organization_id as "organizationId", minute, refused, last_agent_id as "lastAgentId",
          last_reason as "lastReason"`,
  );
