/** Fastify's error handler: counts the request where the guard has not, logs errors of ours, sends the formatted error. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../fail.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { Overloaded, type OverloadedQueue } from '../overloaded.ts';
import { formatError } from './error-format.ts';
import type { Guard } from './guard.ts';
import { isCountedByHandler } from './route.ts';

type ErrorHandler = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

interface ErrorHandlerDeps {
  readonly guard: Guard;
  readonly log: Log;
  readonly metrics: Metrics;
}

const overloadLogMs = 1_000;

export function createErrorHandler({ guard, log, metrics }: ErrorHandlerDeps): ErrorHandler {
  let overloadLoggedAt = Number.NEGATIVE_INFINITY;
  // Exposed as 0 from the start, so that a rate shows the first one.
  const countRejection = {
    work: metrics.counter('service_overload_rejections_total', { queue: 'work' }),
    database_connections: metrics.counter('service_overload_rejections_total', {
      queue: 'database_connections',
    }),
  } satisfies Record<OverloadedQueue, unknown>;

  /** Throttled: an overload refuses hundreds of requests, and a line for each would add to it. */
  const logOverload = (error: Overloaded, { routeOptions }: FastifyRequest) => {
    countRejection[error.queue]();
    if (performance.now() - overloadLoggedAt < overloadLogMs) return;
    overloadLoggedAt = performance.now();
    log.warn(
      { route: routeOptions?.url, queue: error.queue, reason: error.message },
      'overloaded: a queue is full; requests are refused with 503',
    );
  };

  /**
   * Some routes count a client once it is verified. A request that failed before that counts against
   * its address; if the address is over its limit, the error becomes RATE_LIMIT_EXCEEDED.
   */
  const countUnverified = async (
    thrown: unknown,
    { requestContext, routeOptions }: FastifyRequest,
    reply: FastifyReply,
  ) => {
    const entry = routeOptions?.config?.entry;
    if (!requestContext || requestContext.counted || !isCountedByHandler(entry)) return thrown;
    return guard.countAgainst(reply, requestContext, undefined, null, entry).then(
      () => thrown,
      (refusal) => refusal,
    );
  };

  return async (thrown, request, reply) => {
    const { failures = 'envelope', malformed, accepts } = request.routeOptions?.config?.entry ?? {};
    const format = (error: unknown) =>
      formatError(error, { failures, malformed: malformed?.(request.body), accepts });
    const formatted = format(thrown);
    const error = formatted.isServerError ? thrown : await countUnverified(thrown, request, reply);
    const { status, headers, body, code, isServerError } = error === thrown ? formatted : format(error);
    metrics.count('service_refusals_total', { code });
    if (error instanceof Overloaded) logOverload(error, request);
    else if (isServerError && !(error instanceof ApiError && error.isLogged))
      log.error({ err: error, requestId: request.id, route: request.routeOptions?.url }, 'request failed');
    // Fastify would close the connection of a body that is too large. Reading and dropping the rest lets the client get its answer.
    if (status === 413) reply.removeHeader('connection');
    return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body);
  };
}
