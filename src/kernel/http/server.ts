/**
 * The HTTP server: Fastify with safer defaults, the guard before every route, one error formatter behind it.
 * It knows no feature; app.ts hands it the list of route entries.
 */
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import cors from '@fastify/cors';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { limits } from '../../contract/limits.ts';
import { Overloaded } from '../concurrency/overloaded.ts';
import type { Config } from '../config/config.ts';
import { isDeepFrozen } from '../data/deep-freeze.ts';
import { memoize } from '../data/memoize.ts';
import { ApiError } from '../fail.ts';
import type { Log } from '../observability/log.ts';
import { createConnections } from './connections/connections.ts';
import { oneAtATime } from './connections/pipelining.ts';
import { createUnreadResponses } from './connections/unread-responses.ts';
import { formatError } from './error-format.ts';
import { createGuard, type GuardDeps, type RequestContext, subjectOf, windowHeaders } from './guard.ts';
import {
  readForm,
  readJson,
  refuseBadEncoding,
  refuseDuplicates,
  refuseImmutable,
  refuseUnexpectedBody,
  refuseUnsafe,
} from './input/body.ts';
import { validatorCompiler } from './input/validation.ts';
import { documentRoutes, type OpenApi, schemaOf } from './openapi.ts';
import {
  createRequestContext,
  dropContentTypeOfEmptyBody,
  requestId,
  requireReadableBody,
  requireValidHeaders,
} from './request.ts';
import { type RouteEntry, successStatus } from './route.ts';
import { createSecurityHeaders } from './security-headers.ts';
import { isStaticContent, sendStaticContent } from './static-content.ts';

declare module 'fastify' {
  interface FastifyRequest {
    visit: RequestContext | null;
  }
  interface FastifyContextConfig {
    entry?: RouteEntry;
  }
}

export interface HttpDeps extends GuardDeps {
  readonly config: Pick<Config, 'trustProxy' | 'corsOrigin' | 'baseUrl'> & {
    /** How long nothing may move on a connection, if not as long as usual. */
    readonly idleTimeoutMs?: number;
    /** How long those who seem idle may still ask when we close, likewise. */
    readonly closeDelayMs?: number;
    /** How much unread responses may hold and how long a client may read nothing, if not as `limits` has it. */
    readonly unread?: { readonly maxBytes?: number; readonly stallMs?: number };
  };
  readonly log: Log;
  readonly routes: readonly RouteEntry[];
}

export interface Http {
  readonly server: FastifyInstance;
  openapi(): OpenApi;
  /** Finishes requests in flight, keep-alive clients notwithstanding; cuts what is not done after `graceMs`. */
  close(graceMs?: number): Promise<void>;
}

const maxBodyBytes = 256 * 1024;
/** Forms are a handful of fields, and a long one of many small fields costs more to read than it looks. */
const maxFormBytes = 32 * 1024;
const overloadLogMs = 1_000;
/** A request, headers and body together, must arrive within this. */
const requestTimeoutMs = 30_000;
const headersTimeoutMs = 15_000;
/** A connection on which nothing moves for so long is closed. Clients that do not read have less time (unread-responses.ts). */
const stalledMs = 180_000;

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const { config, log, routes, window, metrics } = deps;
  const guard = createGuard(deps);
  const securityHeaders = createSecurityHeaders(config.baseUrl.startsWith('https:'));
  const connections = createConnections({ window, securityHeaders, closeDelayMs: config.closeDelayMs });
  const unread = createUnreadResponses({ log, ...limits.unreadResponses, ...config.unread });
  let overloadLoggedAt = Number.NEGATIVE_INFINITY;

  const server: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // What we log of a request names it; a logger for each would cost more than the rest of a simple one.
    childLoggerFactory: (logger) => logger,
    genReqId: requestId,
    requestIdHeader: false,
    trustProxy: config.trustProxy ?? false,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: config.idleTimeoutMs ?? stalledMs,
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: 2_000,
      // Node's own refusal would carry none of our headers; the first hook refuses instead.
      requireHostHeader: false,
    },
    return503OnClosing: false,
    // A path that is no id is refused as such, however long: the headers of a request are bounded anyway.
    routerOptions: { maxParamLength: 16_384 },
    clientErrorHandler: (error, socket) => void connections.refuse(error, socket),
    frameworkErrors: (error, request, reply) => void answerUnroutable(error, request, reply),
  });
  server.decorateRequest('visit', null);
  // The guard knows a route by its entry: one that came in some other way would be open to all. CORS adds `OPTIONS *`.
  server.addHook('onRoute', ({ url, method, config: routeConfig }) => {
    if (!routeConfig?.entry && method !== 'OPTIONS')
      throw new Error(`${String(method)} ${url} is mounted without an entry`);
  });
  server.setValidatorCompiler(validatorCompiler);
  server.removeAllContentTypeParsers();

  // Before CORS, which answers preflights itself.
  server.addHook('onRequest', (_, reply, done) => {
    reply.headers(securityHeaders);
    done();
  });
  if (config.corsOrigin !== undefined) {
    await server.register(cors, {
      origin: config.corsOrigin,
      exposedHeaders: [
        'X-RateLimit-Limit',
        'X-RateLimit-Remaining',
        'X-RateLimit-Reset',
        'X-Request-Id',
        'WWW-Authenticate',
        'Retry-After',
        'Content-Disposition',
        'X-Cache',
      ],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      maxAge: 600,
      // Strict, the plugin answers an OPTIONS request that is no preflight in plain text, outside the envelope.
      strictPreflight: false,
    });
  }

  server.addHook('onRequest', async (request, reply) => {
    request.visit = createRequestContext(request);
    await guard.authorize(request, reply, request.visit, request.routeOptions.config.entry);
    requireValidHeaders(request);
    requireReadableBody(request);
    dropContentTypeOfEmptyBody(request);
  });
  server.addHook('preValidation', (request, _, done) => {
    refuseUnsafe(request.params, 'path');
    refuseBadEncoding(request.url);
    refuseUnsafe(request.query, 'query');
    if (request.routeOptions.config.entry?.accepts === 'form') {
      refuseUnsafe(request.body, 'body');
      refuseDuplicates(request.body);
    }
    if (request.routeOptions.config.entry?.optionalBody && request.body === undefined) request.body = {};
    refuseUnexpectedBody(request.body, request.routeOptions.config.entry);
    refuseImmutable(request.body, request.routeOptions.config.entry?.immutable);
    done();
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const send = () => done(null, unread.bound(payload, request.raw, reply));
    const ready = prepareToSend(request, reply);
    if (ready) ready.then(send, done);
    else send();
  });
  server.addHook('onResponse', (request, reply, done) => {
    noteSent(request, reply);
    done();
  });
  server.addHook('preClose', async () => connections.startClosing());
  server.addHook('onClose', async () => unread.stop());

  server.setErrorHandler(answerError);
  server.setNotFoundHandler(() => {
    throw new ApiError('ROUTE_NOT_FOUND');
  });

  const openapi = await documentRoutes(server, config.baseUrl, routes);
  await server.register(async (json) => {
    json.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_: FastifyRequest, body: Buffer) => readJson(body),
    );
    for (const entry of routes) if ((entry.accepts ?? 'json') === 'json') mount(json, entry);
  });
  await server.register(async (form) => {
    form.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer' },
      async (_: FastifyRequest, body: Buffer) => readForm(body),
    );
    for (const entry of routes) if (entry.accepts === 'form') mount(form, entry);
  });
  await server.register(async (raw) => {
    raw.addContentTypeParser('*', { parseAs: 'buffer' }, async (_: FastifyRequest, body: Buffer) => body);
    for (const entry of routes) if (entry.accepts === 'raw') mount(raw, entry);
  });
  server.server.on('connection', unread.track);
  const [handle] = server.server.listeners('request');
  server.server.removeAllListeners('request');
  server.server.on('request', oneAtATime(handle as RequestListener, limits.pipelinedRequests));
  // An expectation we do not know is ignored, as RFC 9110 allows: Node's own 417 would carry none of our headers.
  server.server.on('checkExpectation', (request, response) =>
    server.server.emit('request', request, response),
  );
  // Whoever has sent all of a request and shut its sending side down still reads: Node would end the connection at once otherwise.
  Object.assign(server.server, { httpAllowHalfOpen: true });
  await server.ready();

  function mount(context: FastifyInstance, entry: RouteEntry) {
    const status = successStatus(entry);
    /** What cannot change has one text, made by the schema of this route when it is first asked for. */
    const textOf = memoize((body: Record<string, unknown>, reply: FastifyReply) =>
      String(reply.serializeInput(body, String(status))),
    );
    context.route({
      method: entry.method,
      url: entry.path,
      config: { entry },
      ...(entry.accepts === 'form' && { bodyLimit: maxFormBytes }),
      schema: schemaOf(entry),
      async handler(request, reply) {
        const visit = request.visit as RequestContext;
        const body = await entry.handler({
          params: request.params as never,
          query: request.query as never,
          body: request.body as never,
          caller: visit.caller,
          origin: visit.origin,
          headers: request.headers,
          header: (name, value) => void reply.header(name, value),
          countAgainst: (subject) =>
            guard.countAgainst(reply, visit, subject === 'address' ? undefined : subject.clientId),
        });
        reply.code(status);
        if (isDeepFrozen(body) && !entry.produces)
          return reply.type('application/json; charset=utf-8').send(textOf(body, reply));
        if (isStaticContent(body)) {
          reply.type(entry.produces ?? 'application/json; charset=utf-8');
          return sendStaticContent(body, request, reply);
        }
        if (entry.produces && !reply.hasHeader('content-type')) reply.type(entry.produces);
        // Nothing is read ahead: that would be held besides what is being sent.
        return reply.send(isLong(body) ? Readable.from(body, { objectMode: false, highWaterMark: 0 }) : body);
      },
    });
  }

  async function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
    const { failures = 'envelope', malformed } = request.routeOptions?.config?.entry ?? {};
    const format = (error: unknown) => formatError(error, failures, malformed?.(request.body));
    const error = format(thrown).isServerError ? thrown : await countUnproven(thrown, request, reply);
    const { status, headers, body, isServerError: ours } = format(error);
    if (error instanceof Overloaded) logOverload(request);
    else if (ours)
      log.error({ err: error, requestId: request.id, route: request.routeOptions?.url }, 'request failed');
    // The framework would close the connection of a body that is too long; read on and dropped, it leaves the client its answer.
    if (status === 413) reply.removeHeader('connection');
    return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body);
  }

  /** Where clients are counted once they are proven, whoever has proven nothing is counted by the address: refused as it was, or for that. */
  async function countUnproven(
    thrown: unknown,
    { visit, routeOptions }: FastifyRequest,
    reply: FastifyReply,
  ) {
    if (!visit || visit.counted || routeOptions?.config?.entry?.limit !== 'afterVerification') return thrown;
    return guard.countAgainst(reply, visit, undefined).then(
      () => thrown,
      (refusal) => refusal,
    );
  }

  /** Throttled: an overload refuses hundreds of requests, and a line for each would add to it. */
  function logOverload({ routeOptions }: FastifyRequest) {
    if (performance.now() - overloadLoggedAt < overloadLogMs) return;
    overloadLoggedAt = performance.now();
    log.warn({ route: routeOptions?.url }, 'overloaded: a queue is full; requests are refused with 503');
  }

  /** What answered before the guard ran (a CORS preflight), or failed through us before anybody was counted. */
  async function countLate(request: FastifyRequest, reply: FastifyReply) {
    const subject = subjectOf(request.visit ?? createRequestContext(request));
    // What we could not do is not held against anybody.
    const state = reply.statusCode >= 500 ? window.peek(subject) : window.count(subject);
    reply.headers(windowHeaders(await state));
  }

  /** Every answer passes here before it is written; undefined when nothing has to be waited for, as it mostly is. */
  function prepareToSend(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    reply.header('x-request-id', request.id);
    const hearing = connections.beforeResponse(request.raw, reply);
    if (request.visit?.counted) return hearing?.();
    return countLate(request, reply).then(hearing);
  }

  function noteSent(request: FastifyRequest, reply: FastifyReply) {
    connections.afterResponse(request.raw);
    const labels = {
      method: knownMethods.has(request.method) ? request.method : 'OTHER',
      route: request.routeOptions?.url ?? 'unmatched',
      status_code: String(reply.statusCode),
    };
    metrics.count('service_http_requests_total', labels);
    metrics.observe('service_http_request_duration_seconds', labels, reply.elapsedTime / 1000);
    if (log.isLevelEnabled('debug'))
      log.debug({ requestId: request.id, ...labels, ms: Math.round(reply.elapsedTime) }, 'request');
  }

  /** An address the router cannot even read: Fastify runs no hooks for it. */
  async function answerUnroutable(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    reply.headers(securityHeaders);
    reply.raw.once('finish', () => noteSent(request, reply));
    await prepareToSend(request, reply);
    await answerError(error, request, reply);
  }

  return { server, openapi, close: (graceMs) => connections.close(server, graceMs) };
}

/** What is written as it comes, instead of being held in memory. */
const isLong = (body: unknown): body is AsyncIterable<string> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !('pipe' in body);

const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
