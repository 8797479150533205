/** Counts requests in the rate windows, and sets the headers that describe the window. */
import type { FastifyReply } from 'fastify';
import { limits } from '../../../contract/limits.ts';
import { fail } from '../../fail.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { networkOf } from '../address.ts';
import type { RateWindow, WindowState } from '../rate-window.ts';
import { ownWindowOf, type RouteEntry } from '../route.ts';
import type { Identity, RequestContext } from './identity.ts';

export interface RateLimiter {
  /** Against the client, or against the address without one; in the window that the route has per agent. A request counts once. */
  countAgainst(
    reply: FastifyReply,
    context: RequestContext,
    clientId: string | undefined,
    /** The client's own limit; without one, the instance's. */
    perMinute?: number | null,
    entry?: RouteEntry,
  ): Promise<void>;
  /** Refuses the request of a client whose window is used up, without counting: before work that costs more than a count. The same window. */
  refuseExceeded(
    reply: FastifyReply,
    context: RequestContext,
    client: Pick<Identity, 'agentId' | 'rateLimitPerMinute'>,
    entry?: RouteEntry,
  ): Promise<void>;
  /**
   * In the window of the console: of the person or the agent of the session, or of the address without one. Programs that use up the
   * agent's window leave this one as it is. A lower limit of the agent holds here too: its client can sign in.
   */
  countInConsole(reply: FastifyReply, context: RequestContext, identity: Identity | undefined): Promise<void>;
  /** In the window of the address for the console's files. A page that loads many files leaves the sign-in as it is. */
  countPageFile(reply: FastifyReply, context: RequestContext): Promise<void>;
  /** In the window of the address for requests that another site's page sends to the console: a person's browser may send them unasked. */
  countForeign(reply: FastifyReply, context: RequestContext): Promise<void>;
  /** In the window of a route that has one. */
  countInOwnWindow(
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
    identity: Identity | undefined,
  ): Promise<void>;
  /** Sets the headers without counting. */
  showWindow(reply: FastifyReply, context: RequestContext): Promise<void>;
  /** Sets the headers of an unused window, without reading a store. */
  showUnusedWindow(reply: FastifyReply, context: RequestContext): void;
}

export function createRateLimiter({
  window,
  metrics,
}: {
  window: RateWindow;
  metrics: Metrics;
}): RateLimiter {
  const applyWindow = (reply: FastifyReply, state: WindowState, clientId?: string) => {
    reply.headers(windowHeaders(state));
    if (!state.exceeded) return;
    metrics.count('service_rate_limit_hits_total', { client_id: clientId ?? 'anonymous' });
    fail('RATE_LIMIT_EXCEEDED', {
      details: { limit: state.limit, resetAt: state.resetAt },
      headers: { 'retry-after': String(state.retryAfterSeconds) },
    });
  };

  /** Subject and limit. */
  const windowOf = (
    context: RequestContext,
    clientId: string | undefined,
    perMinute: number | null | undefined,
    entry: RouteEntry | undefined,
  ): [string, number | undefined] => {
    const subject = subjectOf(context, clientId);
    const own = ownWindowOf(entry);
    if (!own) return [subject, perMinute ?? undefined];
    const limit = Math.max(own.perMinute, window.unused().limit, perMinute ?? 0);
    return [`route:${entry?.path}:${subject}`, limit];
  };

  const countBelowConsole = async (
    reply: FastifyReply,
    context: RequestContext,
    subject: string,
    identity?: Identity,
  ) => {
    const usual = Math.max(limits.console.requestsPerMinute, window.unused().limit);
    const perMinute = Math.min(usual, identity?.rateLimitPerMinute ?? usual);
    context.counted ??= await window.count(`console:${subject}`, perMinute);
    applyWindow(reply, context.counted, identity?.agentId);
  };

  return {
    async countAgainst(reply, context, clientId, perMinute, entry) {
      // A handler may call this twice: its batch is retried item by item when another item fails.
      if (!context.counted) {
        const state = window.count(...windowOf(context, clientId, perMinute, entry));
        context.counted = state instanceof Promise ? await state : state;
      }
      applyWindow(reply, context.counted, clientId);
    },

    async refuseExceeded(reply, context, { agentId, rateLimitPerMinute }, entry) {
      const state = await window.peek(...windowOf(context, agentId, rateLimitPerMinute, entry));
      if (!state.exceeded) return;
      context.counted = state;
      applyWindow(reply, state, agentId);
    },

    async countInConsole(reply, context, identity) {
      const subject = identity
        ? `session:${identity.person?.personId ?? identity.agentId}`
        : subjectOf(context);
      return countBelowConsole(reply, context, subject, identity);
    },

    countPageFile: (reply, context) => countBelowConsole(reply, context, `files:${subjectOf(context)}`),

    countForeign: (reply, context) => countBelowConsole(reply, context, `foreign:${subjectOf(context)}`),

    /** The headers describe the window that all routes share, unless this window refuses or the entry says `headers: 'own'`. */
    async countInOwnWindow(reply, context, entry, identity) {
      if (typeof entry?.limit !== 'object' || entry.limit.per === 'agent') return;
      const { per, perMinute, headers } = entry.limit;
      const subject =
        identity && per === 'organization'
          ? `organization:${identity.organizationId}`
          : subjectOf(context, identity?.agentId);
      const own = await window.count(`route:${entry.id}:${subject}`, perMinute);
      if (own.exceeded || headers === 'own') applyWindow(reply, own, identity?.agentId);
    },

    async showWindow(reply, context) {
      context.counted = await window.peek(subjectOf(context));
      reply.headers(windowHeaders(context.counted));
    },

    showUnusedWindow(reply, context) {
      context.counted = window.unused();
      reply.headers(windowHeaders(context.counted));
    },
  };
}

export const windowHeaders = (state: WindowState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
  'x-ratelimit-reset': String(state.resetAt),
});

export const subjectOf = (context: RequestContext, clientId?: string): string =>
  clientId === undefined ? `ip:${networkOf(context.origin.ipAddress)}` : `client:${clientId}`;
