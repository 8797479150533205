import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { StreamName } from '../../kernel/ports/broker.ts';
import type { Publish } from './publisher.ts';
import { countWaiting } from './store.ts';

/** Counting is not for free, and past this it makes no difference. */
const countedAtMost = 100_000;

export const createPublisherLoop = (stream: StreamName, publish: Publish): Loop => ({
  name: `streams-${stream}`,
  everyMs: 500,
  run: publish,
});

/** Everywhere, since every process that answers /metrics shows the gauge. */
export const createWatchLoop = (deps: {
  db: Db;
  metrics: Metrics;
  streams: readonly StreamName[];
}): Loop => ({
  name: 'streams-watch',
  everyMs: 10_000,
  inEveryProcess: true,
  async run() {
    for (const stream of deps.streams) {
      const waiting = await countWaiting(deps.db, stream, countedAtMost);
      deps.metrics.gauge('service_stream_outbox_pending', waiting, { stream });
    }
  },
});
