import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Backlog } from './chain/backlog.ts';
import type { Sequencer } from './chain/sequencer.ts';
import type { Partitions } from './log/partitions.ts';

export const createPartitionLoop = ({ ensure }: Partitions): Loop => ({
  name: 'audit-partitions',
  everyMs: 3_600_000,
  inEveryProcess: true,
  run: ensure,
});

export const createSequencerLoop = (sequencer: Sequencer, backlog: Backlog): Loop => ({
  name: 'audit-sequencer',
  everyMs: 1_000,
  run: (signal) => backlog.observe(() => sequencer.pass(signal)),
});

/** In every process, so that a server notices when the process that runs the sequencer has stopped. */
export const createBacklogLoop = (check: () => Promise<void>): Loop => ({
  name: 'audit-backlog',
  everyMs: 1_000,
  inEveryProcess: true,
  run: check,
});

export const createRetentionLoop = (retain: () => Promise<void>): Loop => ({
  name: 'audit-retention',
  everyMs: 3_600_000,
  purges: true,
  run: retain,
});

/** In every process, because each one that serves /metrics shows the gauge. */
export const createWatchLoop = (watch: () => Promise<unknown>): Loop => ({
  name: 'audit-watch',
  everyMs: 15_000,
  inEveryProcess: true,
  async run() {
    await watch();
  },
});
