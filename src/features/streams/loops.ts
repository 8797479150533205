import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { StreamName } from '../../kernel/ports/broker.ts';
import type { Publish } from './publisher.ts';
import { countPending } from './store.ts';

/** Bounds the cost of counting. */
const maxCounted = 100_000;

export const createPublisherLoop = (stream: StreamName, publish: Publish): Loop => ({
  name: `streams-${stream}`,
  everyMs: 500,
  run: publish,
});

/** In every process, because each exposes the gauge on /metrics. */
export const createPendingGaugeLoop = (deps: {
  db: Db;
  metrics: Metrics;
  streams: readonly StreamName[];
}): Loop => ({
  name: 'streams-pending',
  everyMs: 10_000,
  inEveryProcess: true,
  async run() {
    for (const stream of deps.streams) {
      const pending = await countPending(deps.db, stream, maxCounted);
      deps.metrics.gauge('service_stream_outbox_pending', pending, { stream });
    }
  },
});
