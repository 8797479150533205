/**
 * How many events the sequencer links in one transaction. The lock has a lease: on a slow machine a full batch can take longer
 * than that, and the same batch would fail again and again. So a batch that lost the lock halves the size (a small
 * batch only the limit), and each committed batch raises it by a quarter.
 */
import type { Log } from '../../../kernel/observability/log.ts';

interface BatchSize {
  current(): number;
  /** A batch with this many events lost the lock; undefined when the events were not read yet. */
  shrink(events: number | undefined, reason: string): void;
  grow(): void;
}

/** With fewer events, another cause than their number is likely, such as a process that was stopped. */
const largeBatch = 100;

export function createBatchSize(log: Log, maximum: number): BatchSize {
  let size = maximum;
  return {
    current: () => size,
    shrink(events, reason) {
      const isLarge = events !== undefined && events >= largeBatch;
      size = Math.max(1, Math.floor((isLarge ? Math.min(size, events) : size) / 2));
      log.warn(
        { reason, batchSize: size },
        'the audit sequencer lost its lock during a batch; batches are limited to fewer events',
      );
    },
    grow() {
      if (size === maximum) return;
      size = Math.min(maximum, Math.ceil(size * 1.25));
      if (size === maximum)
        log.info({ batchSize: size }, 'batches of the audit sequencer have their full size again');
    },
  };
}
