/**
 * The HTTP server: Fastify with safer defaults, the guard before every route, one error formatter behind it.
 * It knows no feature; app.ts passes the list of route entries.
 */
import type { RequestListener, Server } from 'node:http';
import cors from '@fastify/cors';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { FairQueue } from '../concurrency/fair-queue.ts';
import type { ServedRequests } from '../concurrency/pace.ts';
import type { Config } from '../config/config.ts';
import { ApiError } from '../fail.ts';
import type { Log } from '../observability/log.ts';
import { tracer } from '../observability/tracing.ts';
import { acceptsClientCredentials } from './access/client-credentials.ts';
import { markInner } from './access/inner-requests.ts';
import { rewriteUrl } from './access/session-requests.ts';
import { createConnections } from './connections/connections.ts';
import { type Address, createListeners } from './connections/listeners.ts';
import { oneAtATime } from './connections/pipelining.ts';
import { createUnreadResponses, type UnreadResponses } from './connections/unread-responses.ts';
import { createErrorHandler } from './error-handler.ts';
import { createGuard, type Guard, type GuardDeps } from './guard.ts';
import { type AllowedMethods, createAllowedMethods } from './input/allowed-methods.ts';
import {
  refuseBadEncoding,
  refuseDuplicates,
  refuseImmutable,
  refuseUnexpectedBody,
  refuseUnsafe,
} from './input/body.ts';
import { createIdempotent, type IdempotencyDeps } from './input/idempotency.ts';
import { compilers, mountRoutes } from './mount.ts';
import { createDocument, type OpenApi } from './openapi.ts';
import {
  createRequestContext,
  dropContentTypeOfEmptyBody,
  requestId,
  requireReadableBody,
  requireValidHeaders,
} from './request.ts';
import { addRequestSpans } from './request-spans.ts';
import { createRequestLog } from './responses/request-log.ts';
import { createResponseHooks, type ResponseHooks } from './responses/response-hooks.ts';
import { createSecurityHeaders } from './responses/security-headers.ts';
import type { ReadCost, RouteEntry } from './route.ts';

export interface HttpDeps extends GuardDeps, IdempotencyDeps {
  readonly config: Pick<
    Config,
    'trustProxy' | 'corsOrigin' | 'baseUrl' | 'logRequests' | 'logRequestsShare'
  > & {
    /** Overrides the idle timeout of connections. */
    readonly idleTimeoutMs?: number;
    /** Overrides the delay before `close` ends idle connections. */
    readonly closeDelayMs?: number;
    /** Overrides `limits.unreadResponses`. */
    readonly unread?: { readonly maxBytes?: number; readonly stallMs?: number };
  };
  readonly log: Log;
  readonly routes: readonly RouteEntry[];
  /** Runs the handlers of requests that are not reads, keyed by organization. */
  readonly writeQueue: FairQueue;
  /** Run the handlers of reads with a `cost`, keyed by organization. */
  readonly readQueues: Readonly<Record<ReadCost, FairQueue>>;
  readonly requests: ServedRequests;
}

export interface Http {
  readonly server: FastifyInstance;
  openapi(): Promise<OpenApi>;
  /** Fails if another server has the port. */
  listen(address: Address): Promise<void>;
  /** Finishes requests in flight and ends keep-alive connections; after `graceMs` it closes the remaining ones. */
  close(graceMs?: number): Promise<void>;
}

const maxBodyBytes = 256 * 1024;
/** Headers and body together must arrive within this time. */
const requestTimeoutMs = 30_000;
const headersTimeoutMs = 15_000;
/** Idle connections are closed after this time. Clients that do not read have less time (unread-responses.ts). */
const idleTimeoutMs = 180_000;

export async function createHttp(deps: HttpDeps): Promise<Http> {
  const { config, log, routes, window, metrics } = deps;
  const guard = createGuard(deps);
  const securityHeaders = createSecurityHeaders(config.baseUrl.startsWith('https:'));
  const connections = createConnections({ window, securityHeaders, closeDelayMs: config.closeDelayMs });
  const unread = createUnreadResponses({ log, ...limits.unreadResponses, ...config.unread });
  const logRequest = createRequestLog(log, config);
  const hooks = createResponseHooks({ connections, unread, window, metrics, logRequest });
  const answerError = createErrorHandler({ guard, log, metrics });

  const server: FastifyInstance = Fastify({
    ...fastifyOptions(config, log),
    clientErrorHandler: (error, socket) => void connections.refuse(error, socket),
    // A URL that the router cannot parse: Fastify runs no hooks for it.
    frameworkErrors: async (error, request, reply) => {
      reply.headers(securityHeaders);
      reply.raw.once('finish', () => hooks.onResponse(request, reply));
      await hooks.beforeSend(request, reply);
      await answerError(error, request, reply);
    },
  });
  server.decorateRequest('requestContext', null);
  server.removeAllContentTypeParsers();

  requireEntries(server);
  if (tracer) addRequestSpans(server, tracer);
  // Before CORS, which answers preflights itself.
  addSecurityHeaders(server, securityHeaders);
  await addCors(server, config.corsOrigin);
  const refuseUnknown = createRefuseUnknown(
    createAllowedMethods(routes, config.corsOrigin === undefined ? [] : ['OPTIONS']),
  );
  addGuard(server, guard, refuseUnknown);
  addInputChecks(server);
  addResponseHooks(server, hooks);
  server.addHook('preClose', async () => connections.startClosing());
  server.setErrorHandler(answerError);
  server.setNotFoundHandler(refuseUnknown);

  await mountRoutes(server, routes, {
    guard,
    runIdempotent: createIdempotent(deps),
    writeQueue: deps.writeQueue,
    readQueues: deps.readQueues,
    requests: deps.requests,
    closing: connections.closing,
  });
  configureListener(server.server, unread);
  await server.ready();
  const listeners = createListeners(server);

  return {
    server,
    openapi: createDocument(config.baseUrl, routes),
    listen: listeners.listen,
    close: (graceMs) => connections.close(server, listeners, graceMs).finally(unread.stop),
  };
}

const fastifyOptions = (config: HttpDeps['config'], log: Log) =>
  ({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Log lines carry the request id; a child logger per request would cost more than the rest of a simple request.
    childLoggerFactory: (logger) => logger,
    genReqId: requestId,
    requestIdHeader: false,
    rewriteUrl(request) {
      markInner(request);
      return rewriteUrl(request);
    },
    trustProxy: config.trustProxy ?? false,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: config.idleTimeoutMs ?? idleTimeoutMs,
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: 2_000,
      // Node's own refusal would lack our headers; requireValidHeaders refuses instead.
      requireHostHeader: false,
    },
    // Given here and not set later: otherwise Fastify loads compilers of its own.
    schemaController: { compilersFactory: compilers },
    return503OnClosing: false,
    // A long path parameter is refused as a malformed id; Node bounds the size of the request's headers.
    routerOptions: { maxParamLength: 16_384 },
  }) satisfies FastifyHttpOptions<Server>;

/** The guard finds a route's access by its entry: a route without one would be open to all. CORS adds `OPTIONS *`. */
const requireEntries = (server: FastifyInstance) =>
  server.addHook('onRoute', ({ url, method, config }) => {
    const entry = config?.entry;
    if (!entry && method !== 'OPTIONS')
      throw new Error(`${String(method)} ${url} is mounted without an entry`);
    if (entry && ['static', 'none'].includes(String(entry.limit)) && entry.access.kind !== 'open')
      throw new Error(`${entry.id}: the guard lets requests that do not count in without any other step`);
  });

const addSecurityHeaders = (server: FastifyInstance, headers: Record<string, string>) =>
  server.addHook('onRequest', (_, reply, done) => {
    reply.headers(headers);
    done();
  });

async function addCors(server: FastifyInstance, corsOrigin: Config['corsOrigin']): Promise<void> {
  if (corsOrigin === undefined) return;
  await server.register(cors, {
    origin: corsOrigin,
    exposedHeaders: [
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-Request-Id',
      'WWW-Authenticate',
      'DPoP-Nonce',
      'Retry-After',
      'Content-Disposition',
      'X-Cache',
      'Idempotency-Replayed',
    ],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    maxAge: 600,
    // With true, the plugin answers an OPTIONS request that is no preflight in plain text, outside the envelope.
    strictPreflight: false,
  });
}

/** For the router a known path with another method is as unknown as the path of no route. */
const createRefuseUnknown = (allowedMethods: AllowedMethods) => {
  // A worker serves the probes only.
  const hasReference = allowedMethods('/docs').length > 0;
  const unknownPath = hasReference ? {} : { message: 'There is nothing at this method and path.' };
  return ({ url }: FastifyRequest): never => {
    const allowed = allowedMethods(url);
    if (allowed.length === 0) throw new ApiError('ROUTE_NOT_FOUND', unknownPath);
    throw new ApiError('METHOD_NOT_ALLOWED', { headers: { allow: allowed.join(', ') } });
  };
};

const addGuard = (
  server: FastifyInstance,
  guard: Guard,
  refuseUnknown: (request: FastifyRequest) => never,
) => {
  server.addHook('onRequest', async (request, reply) => {
    request.requestContext = createRequestContext(request);
    await guard.authorize(request, reply, request.requestContext, request.routeOptions.config.entry);
    requireValidHeaders(request);
    requireReadableBody(request);
    // Before Fastify looks at the content type of a body that no route reads.
    if (request.is404) refuseUnknown(request);
    dropContentTypeOfEmptyBody(request);
  });
  server.addHook('preValidation', (request, reply, done) => {
    const { requestContext: context, routeOptions } = request;
    const { entry } = routeOptions.config;
    if (!context || !entry || !acceptsClientCredentials(entry.access)) return done();
    guard.authorizeClient(request, reply, context, entry).then(() => done(), done);
  });
};

const addInputChecks = (server: FastifyInstance) =>
  server.addHook('preValidation', (request, _, done) => {
    const { entry } = request.routeOptions.config;
    refuseUnsafe(request.params, 'path');
    refuseBadEncoding(request.url);
    refuseUnsafe(request.query, 'query');
    if (entry?.accepts === 'form') {
      refuseUnsafe(request.body, 'body');
      if (!entry.keepsRepeatedFields) refuseDuplicates(request.body);
    }
    if (entry?.optionalBody && request.body === undefined) request.body = {};
    refuseUnexpectedBody(request.body, entry);
    refuseImmutable(request.body, entry?.immutable);
    done();
  });

function addResponseHooks(server: FastifyInstance, hooks: ResponseHooks): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    const send = () => done(null, hooks.bound(payload, request, reply));
    const ready = hooks.beforeSend(request, reply);
    if (ready) ready.then(send, done);
    else send();
  });
  server.addHook('onResponse', (request, reply, done) => {
    hooks.onResponse(request, reply);
    done();
  });
}

function configureListener(listener: FastifyInstance['server'], unread: UnreadResponses): void {
  listener.on('connection', unread.track);
  const [handle] = listener.listeners('request');
  listener.removeAllListeners('request');
  listener.on('request', oneAtATime(handle as RequestListener, limits.pipelinedRequests));
  // An unknown expectation is ignored, as RFC 9110 allows: Node's own 417 would lack our headers.
  listener.on('checkExpectation', (request, response) => listener.emit('request', request, response));
  // A client that has ended its sending side may still read: by default Node would close the connection at once.
  Object.assign(listener, { httpAllowHalfOpen: true });
}
