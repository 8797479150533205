/**
 * The days of the log that there is room for. They are made ahead; where the clock has leapt beyond them, as after a machine
 * slept for weeks, they are made with the first event that needs them.
 */
import type { Tx } from '../../../kernel/data/db.ts';
import type { AuditDeps } from '../deps.ts';
import { makePartitions } from './store.ts';

export interface Partitions {
  /** From now on, for some days. */
  ensure(): Promise<void>;
  /** In the transaction of an event of that time (ISO 8601). */
  ensureFor(tx: Tx, timestamp: string): Promise<void>;
  /** Some were dropped: which there are is found out anew. */
  forget(): void;
}

/** Enough that a week without a running loop goes unnoticed. */
const daysAhead = 7;
const dayMs = 86_400_000;

/** Yesterday too: another node's clock may lag behind. */
const daysAround = (time: number): string[] =>
  Array.from({ length: daysAhead + 2 }, (_, day) => dayOf(new Date(time + (day - 1) * dayMs).toISOString()));

const dayOf = (timestamp: string): string => timestamp.slice(0, 10);

export function createPartitions({ db, clock, log }: Pick<AuditDeps, 'db' | 'clock' | 'log'>): Partitions {
  const there = new Set<string>();

  const make = async (tx: Tx, time: number) => {
    const days = daysAround(time);
    const made = await makePartitions(tx, days);
    tx.afterCommit(() => {
      for (const day of days) there.add(day);
      if (made > 0) log.info({ made }, 'audit partitions made');
    });
  };

  return {
    ensure: () => db.transaction((tx) => make(tx, clock.now())),
    async ensureFor(tx, timestamp) {
      if (!there.has(dayOf(timestamp))) await make(tx, Date.parse(timestamp));
    },
    forget: () => there.clear(),
  };
}
