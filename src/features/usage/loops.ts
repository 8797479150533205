import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { tryLockGlobal } from '../../kernel/data/locks.ts';
import type { Counting } from './counting.ts';
import type { UsageDeps } from './deps.ts';
import { type CountedTable, countedTables, deleteOld, joinShards } from './tidy-store.ts';

const dayMs = 86_400_000;

/** What a killed process can lose. Everywhere: each process counts what it has answered. */
export const createFlushLoop = ({ flush }: Counting): Loop => ({
  name: 'usage-flush',
  everyMs: 1_000,
  inEveryProcess: true,
  run: flush,
});

/** When a table's rows are over: nobody adds to them any more, but for a clock that lags by less than a day. */
const joinedAfterMs: Readonly<Record<CountedTable, number>> = {
  usage_days: 2 * dayMs,
  token_hours: dayMs,
  token_months: 32 * dayMs,
};

export const createTidyLoop = ({ db, clock }: Pick<UsageDeps, 'db' | 'clock'>): Loop => ({
  name: 'usage-tidy',
  everyMs: 600_000,
  purges: true,
  async run(signal) {
    for (const name of countedTables) {
      const over = new Date(clock.now() - joinedAfterMs[name]);
      const old = new Date(clock.now() - limits.usageRetentionDays * dayMs);
      // One node at a time: two that move the same rows would only wait for each other.
      const repeat = (step: typeof joinShards, before: Date) =>
        db.transaction(async (tx) => (await tryLockGlobal(tx, 'usageTidy')) && step(tx, name, before));
      while (!signal.aborted && (await repeat(joinShards, over)));
      while (!signal.aborted && (await repeat(deleteOld, old)));
    }
  },
});
