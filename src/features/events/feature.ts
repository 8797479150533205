/**
 * Events: GET /events, the audit events of the caller's organization as server-sent events while they happen. It owns the open
 * streams of this process, also those of people that other features filter, and nothing in the database: the audit feature gives the events in the order of their links. Kafka and
 * NATS belong to the feature `streams`.
 */

import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { AuditFeed } from '../audit/log/feed.ts';
import { createEventStreams } from './event-streams.ts';
import { createAccessLoop, createPollLoop } from './loops.ts';
import { eventRoutes } from './routes.ts';
import { createEventStreamService } from './service.ts';

export interface EventStreamDeps {
  readonly feed: AuditFeed;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createEventStream(deps: EventStreamDeps) {
  const streams = createEventStreams(deps);
  const service = createEventStreamService(deps, streams);
  return {
    routes: eventRoutes(service),
    openPersonal: service.openPersonal,
    loops: [createPollLoop(streams), createAccessLoop(streams)],
  };
}
