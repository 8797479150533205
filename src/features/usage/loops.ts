import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { tryLockGlobal } from '../../kernel/data/locks.ts';
import { type CountedTable, countedTables, deleteOld, mergeShards } from './compaction-store.ts';
import type { UsageCounter } from './counter.ts';
import type { DeferredCounts } from './deferred-counts.ts';
import type { UsageDeps } from './feature.ts';

const dayMs = 86_400_000;

/** The interval bounds the loss of a killed process. It runs in every process, because each counts in its own memory. */
export const createFlushLoop = ({ flush }: UsageCounter): Loop => ({
  name: 'usage-flush',
  everyMs: 1_000,
  inEveryProcess: true,
  run: flush,
});

/** Rarely, because an agent's tokens of one round cost one update of its counters. */
export const createCountLoop = ({ count }: DeferredCounts): Loop => ({
  name: 'usage-count',
  everyMs: 60_000,
  run: count,
});

/** The age at which a table's rows no longer change, even when a clock lags by almost a day. */
const mergedAfterMs: Readonly<Record<CountedTable, number>> = {
  usage_days: 2 * dayMs,
  token_hours: dayMs,
  token_months: 32 * dayMs,
};

export const createCompactionLoop = ({ db, clock }: Pick<UsageDeps, 'db' | 'clock'>): Loop => ({
  name: 'usage-compact',
  everyMs: 600_000,
  purges: true,
  async run(signal) {
    for (const name of countedTables) {
      const final = new Date(clock.now() - mergedAfterMs[name]);
      const old = new Date(clock.now() - limits.usageRetentionDays * dayMs);
      // One process at a time: two that merge the same rows would wait for each other.
      const runStep = (step: typeof mergeShards, before: Date) =>
        db.transaction(async (tx) => (await tryLockGlobal(tx, 'usageCompaction')) && step(tx, name, before));
      while (!signal.aborted && (await runStep(mergeShards, final)));
      while (!signal.aborted && (await runStep(deleteOld, old)));
    }
  },
});
