/** Runs around every response: request id, rate-limit headers, the end of the connection, metrics. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';
import { subjectOf, windowHeaders } from '../access/rate-limiter.ts';
import type { Connections } from '../connections/connections.ts';
import type { UnreadResponses } from '../connections/unread-responses.ts';
import type { RateWindow } from '../rate-window.ts';
import { createRequestContext, knownMethods } from '../request.ts';
import type { LogRequest } from './request-log.ts';

export interface ResponseHooks {
  /** Before the response is written; undefined when there is nothing to wait for, which is the usual case. */
  beforeSend(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined;
  /** The payload to write: large ones in slices. */
  bound(payload: unknown, request: FastifyRequest, reply: FastifyReply): unknown;
  /** After the response was written. */
  onResponse(request: FastifyRequest, reply: FastifyReply): void;
}

export function createResponseHooks(deps: {
  readonly connections: Connections;
  readonly unread: UnreadResponses;
  readonly window: RateWindow;
  readonly metrics: Metrics;
  readonly logRequest: LogRequest;
}): ResponseHooks {
  const { connections, unread, window, metrics, logRequest } = deps;

  /** For requests that were answered before the guard ran (CORS preflights), or failed on our side before it had counted. */
  const countLate = async (request: FastifyRequest, reply: FastifyReply) => {
    const subject = subjectOf(request.requestContext ?? createRequestContext(request));
    // Errors of ours do not count against the client.
    const state = reply.statusCode >= 500 ? window.peek(subject) : window.count(subject);
    reply.headers(windowHeaders(await state));
  };

  return {
    beforeSend(request, reply) {
      reply.header('x-request-id', request.id);
      if (staysOpen(request, reply)) metrics.count('service_http_requests_total', labelsOf(request, reply));
      const drain = connections.beforeResponse(request.raw, reply);
      if (request.requestContext?.counted) return drain?.();
      return countLate(request, reply).then(drain);
    },
    bound: (payload, request, reply) => unread.bound(payload, request.raw, reply),
    onResponse(request, reply) {
      connections.afterResponse(request.raw);
      if (staysOpen(request, reply)) return;
      const labels = labelsOf(request, reply);
      metrics.count('service_http_requests_total', labels);
      metrics.observe('service_http_request_duration_seconds', labels, reply.elapsedTime / 1000);
      logRequest(request, reply);
    },
  };
}

/** Counted when it begins: usually the client cuts it off, and then there is no `onResponse`. */
const staysOpen = (request: FastifyRequest, { statusCode }: FastifyReply): boolean =>
  statusCode === 200 && request.routeOptions?.config?.entry?.longLived === true;

const labelsOf = ({ method, routeOptions }: FastifyRequest, { statusCode }: FastifyReply) => ({
  method: knownMethods.has(method) ? method : 'OTHER',
  route: routeOptions?.url ?? 'unmatched',
  status_code: String(statusCode),
});
