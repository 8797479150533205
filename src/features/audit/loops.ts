import type { Loop } from '../../kernel/loops.ts';
import type { AuditDeps } from './feature.ts';
import type { Sequencer } from './sequencer.ts';
import { makePartitions } from './store.ts';

/** Enough that a week without a running loop goes unnoticed. */
const daysAhead = 7;
const dayMs = 86_400_000;

type PartitionDeps = Pick<AuditDeps, 'db' | 'clock' | 'log'>;

export const createPartitionLoop = (deps: PartitionDeps): Loop => ({
  name: 'audit-partitions',
  everyMs: 3_600_000,
  everywhere: true,
  run: () => ensurePartitions(deps),
});

/** Yesterday too: another node's clock may lag behind. */
export async function ensurePartitions({ db, clock, log }: PartitionDeps): Promise<void> {
  const days: string[] = [];
  for (let day = -1; day <= daysAhead; day += 1) {
    days.push(new Date(clock.now() + day * dayMs).toISOString().slice(0, 10));
  }
  const made = await db.transaction((tx) => makePartitions(tx, days));
  if (made > 0) log.info({ made }, 'audit partitions made');
}

export const createSequencerLoop = (sequencer: Sequencer): Loop => ({
  name: 'audit-sequencer',
  everyMs: 1_000,
  run: (signal) => sequencer.pass(signal),
});

export const createRetentionLoop = (retain: () => Promise<void>): Loop => ({
  name: 'audit-retention',
  everyMs: 3_600_000,
  run: retain,
});

/** Everywhere, since every process that answers /metrics shows the gauge. */
export const createWatchLoop = (watch: () => Promise<unknown>): Loop => ({
  name: 'audit-watch',
  everyMs: 15_000,
  everywhere: true,
  async run() {
    await watch();
  },
});
