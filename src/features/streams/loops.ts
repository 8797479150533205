import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import { timeOfUuid } from '../../kernel/ids.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { StreamName } from '../../kernel/ports/broker.ts';
import type { Publish } from './publisher.ts';
import { measurePending } from './store.ts';

/** Bounds the cost of counting. */
const maxCounted = 100_000;

export const createPublisherLoop = (stream: StreamName, publish: Publish): Loop => ({
  name: `streams-${stream}`,
  everyMs: 500,
  run: publish,
});

/** In every process, because each exposes the gauges on /metrics. */
export const createPendingGaugeLoop = (deps: {
  db: Db;
  clock: Clock;
  metrics: Metrics;
  streams: readonly StreamName[];
}): Loop => ({
  name: 'streams-pending',
  everyMs: 10_000,
  inEveryProcess: true,
  async run() {
    for (const stream of deps.streams) {
      const { pending, oldestId } = await measurePending(deps.db, stream, maxCounted);
      // The id of an event has the time of the event.
      const ageMs = oldestId === null ? 0 : Math.max(0, deps.clock.now() - timeOfUuid(oldestId));
      deps.metrics.gauge('service_stream_outbox_pending', pending, { stream });
      deps.metrics.gauge('service_stream_outbox_oldest_seconds', ageMs / 1_000, { stream });
    }
  },
});
