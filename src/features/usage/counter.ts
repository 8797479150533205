/**
 * Counts usage. API calls and the like are counted in memory and written every second (write-behind): a killed process
 * loses that second.
 * Tokens are counted in the transaction that records them, so none is lost. For organizations without limits, that transaction
 * stores the tokens, and they are counted later (uncounted.ts).
 */

import type { UsageMetric } from '../../contract/usage.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import { insertUncountedAtCommit } from './deferred-counts-store.ts';
import type { UsageDeps } from './feature.ts';
import { dayOf } from './period.ts';
import { insertTokensAtCommit, insertUsage, type TokenRow, type UsageRow } from './store.ts';

export interface UsageCounter {
  /** Adds to a counter in memory, which is written within a second. */
  count(organizationId: string, agentId: string, metric: UsageMetric, quantity?: number): void;
  /** Counts the tokens that the ledger records as issued. */
  readonly listener: LedgerListener;
  /** Writes the counters in memory. */
  flush(): Promise<void>;
}

type MutableUsageRow = Omit<UsageRow, 'quantity'> & { quantity: number };

export function createUsageCounter({
  db,
  clock,
  shard,
}: Pick<UsageDeps, 'db' | 'clock' | 'shard'>): UsageCounter {
  let pending = new Map<string, MutableUsageRow>();
  const today = createDayCache();

  const write = async () => {
    const rows = pending;
    if (rows.size === 0) return;
    pending = new Map();
    try {
      await insertUsage(db, [...rows.values()], shard);
    } catch (error) {
      for (const row of rows.values()) add(pending, row);
      throw error;
    }
  };

  /** Concurrent flushes share one write. */
  const flush = createBatcher({
    name: 'usage.flush',
    run: async (flushes: readonly null[]) => {
      await write();
      return flushes.map(() => undefined);
    },
    maxBatch: 10_000,
    concurrency: 1,
    maxQueue: 10_000,
  });

  /** One row for each agent. */
  const countTokens = (tx: Tx, time: string, issued: readonly DomainEvent[]) => {
    const rows = new Map<string, TokenRow>();
    for (const { organizationId, agentId } of issued) {
      const tokens = (rows.get(agentId)?.tokens ?? 0) + 1;
      rows.set(agentId, { organizationId, agentId, tokens });
    }
    insertTokensAtCommit(tx, time, [...rows.values()], shard);
  };

  return {
    count(organizationId, agentId, metric, quantity = 1) {
      add(pending, { organizationId, agentId, day: today(clock.now()), metric, quantity });
    },
    listener: {
      types: ['token.issued'],
      async inTransaction(tx, events) {
        for (const [time, sameTime] of Map.groupBy(events, ({ timestamp }) => timestamp)) {
          const limited = sameTime.filter(({ countLater }) => !countLater);
          if (limited.length > 0) countTokens(tx, time, limited);
          if (limited.length === sameTime.length) continue;
          const uncounted = sameTime.filter(({ countLater }) => countLater);
          insertUncountedAtCommit(tx, `${time.slice(0, 13)}:00:00Z`, uncounted);
        }
      },
    },
    flush: () => flush(null),
  };
}

function add(rows: Map<string, MutableUsageRow>, row: MutableUsageRow): void {
  const key = `${row.metric} ${row.day} ${row.organizationId} ${row.agentId}`;
  const existing = rows.get(key);
  if (existing) existing.quantity += row.quantity;
  else rows.set(key, row);
}

/** Caches the text of the day: formatting a date costs more than the rest of `count`, which runs at every call. */
function createDayCache(): (now: number) => string {
  let cached = { day: Number.NaN, text: '' };
  return (now) => {
    const day = Math.floor(now / 86_400_000);
    if (day !== cached.day) cached = { day, text: dayOf(now) };
    return cached.text;
  };
}
