import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';

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
