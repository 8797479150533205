/**
 * Events: GET /events, the audit events of the caller's organization as server-sent events while they happen. It owns the open
 * streams of this process and nothing in the database: the audit feature gives the events in the order of their links. Kafka and
 * NATS belong to the feature `streams`.
 */
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { createEventStreams } from './event-streams.ts';
import { createAccessLoop, createPollLoop } from './loops.ts';
import { eventRoutes } from './routes.ts';
import { createEventStreamService } from './service.ts';

/** A place in the events of an organization: after the event with this number. */
export interface Position {
  readonly sequence: number;
  readonly day?: string | undefined;
}

export interface FeedEntry extends Position {
  readonly organizationId: string;
  /** As GET /audit/{eventId} shows it; undefined past retention. */
  readonly event: { readonly action: string } | undefined;
}

export interface EventStreamDeps {
  readonly feed: {
    /** After the last event that was recorded so far. */
    end(organizationId: string): Promise<Position>;
    /** The entries after each position, at most `limit` for each organization, in order. */
    read(
      positions: readonly (Position & { readonly organizationId: string })[],
      limit: number,
    ): Promise<FeedEntry[]>;
  };
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface EventStream {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}

export function createEventStream(deps: EventStreamDeps): EventStream {
  const streams = createEventStreams(deps);
  return {
    routes: eventRoutes(createEventStreamService(deps, streams)),
    loops: [createPollLoop(streams), createAccessLoop(streams)],
  };
}
