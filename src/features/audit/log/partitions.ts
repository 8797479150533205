/**
 * The day partitions of the log. They are created ahead of time. If the clock jumps beyond them, as after a machine slept
 * for weeks, the first event creates the partition that it needs.
 */

import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import { createMissingPartitions } from './store.ts';

export interface Partitions {
  /** For today and the next days. */
  ensure(): Promise<void>;
  /** In the transaction of an event of that time (ISO 8601). */
  ensureFor(tx: Tx, timestamp: string): Promise<void>;
  /** Some were dropped: forgets which partitions exist. */
  invalidate(): void;
}

/** The loop may fail for a week. */
const daysAhead = 7;
const dayMs = 86_400_000;

/** Yesterday too, because of clock skew between nodes. */
const daysAround = (time: number): string[] =>
  Array.from({ length: daysAhead + 2 }, (_, day) => dayOf(new Date(time + (day - 1) * dayMs).toISOString()));

const dayOf = (timestamp: string): string => timestamp.slice(0, 10);

export function createPartitions({ db, clock, log }: { db: Db; clock: Clock; log: Log }): Partitions {
  const knownDays = new Set<string>();

  const create = async (tx: Tx, time: number) => {
    const days = daysAround(time);
    const created = await createMissingPartitions(tx, days);
    tx.afterCommit(() => {
      for (const day of days) knownDays.add(day);
      if (created > 0) log.info({ created }, 'audit partitions created');
    });
  };

  return {
    ensure: () => db.transaction((tx) => create(tx, clock.now())),
    async ensureFor(tx, timestamp) {
      if (!knownDays.has(dayOf(timestamp))) await create(tx, Date.parse(timestamp));
    },
    invalidate: () => knownDays.clear(),
  };
}
