/** Mounts route entries on Fastify: one context per kind of body, because each kind has its own parser. */
import { Readable } from 'node:stream';
import serializers from '@fastify/fast-json-stringify-compiler';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySerializerCompiler } from 'fastify';
import type { Caller } from '../caller.ts';
import type { FairQueue } from '../concurrency/fair-queue.ts';
import type { ServedRequests } from '../concurrency/pace.ts';
import { isDeepFrozen, memoize } from '../data/shared-values.ts';
import type { RequestContext } from './access/identity.ts';
import { createSendInner } from './access/inner-requests.ts';
import { endSignal } from './connections/end-signal.ts';
import type { Guard } from './guard.ts';
import { readForm, readJson } from './input/body.ts';
import { idempotencyHeader, type RunIdempotent, replayedHeader } from './input/idempotency.ts';
import { validatorCompiler } from './input/validation.ts';
import { type Compilers, schemaOf } from './openapi.ts';
import { isStaticContent, sendStaticContent } from './responses/static-content.ts';
import {
  type BodyFormat,
  bodyFormats,
  mediaTypes,
  type ReadCost,
  type RouteEntry,
  redirectTarget,
  successStatus,
  wholeAnswerOf,
} from './route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    entry?: RouteEntry;
  }
}

/** Forms have a handful of fields; a long form of many small fields costs more to parse than its size suggests. */
const maxFormBytes = 32 * 1024;
const jsonType = 'application/json; charset=utf-8';

const parsers: Readonly<Record<BodyFormat, (body: Buffer) => unknown>> = {
  json: readJson,
  form: readForm,
  raw: (body) => body,
};

const compile = serializers.default()();

/**
 * Compiled when a response is first sent, and once per schema: most response schemas are the error envelope, and compiling them
 * for each route would take a quarter of the start of a process.
 */
const serializerOf = memoize((_schema: object, route: Parameters<typeof compile>[0]) => compile(route));

const serializerCompiler: FastifySerializerCompiler<object> =
  ({ schema, method, url, httpStatus = '' }) =>
  (body) =>
    serializerOf(schema, { schema, method, url, httpStatus })(body);

export const compilers = {
  buildValidator: () => validatorCompiler,
  buildSerializer: () => serializerCompiler,
} as unknown as Compilers;

interface MountDeps {
  readonly guard: Guard;
  readonly runIdempotent: RunIdempotent;
  readonly writeQueue: FairQueue;
  readonly readQueues: Readonly<Record<ReadCost, FairQueue>>;
  readonly requests: ServedRequests;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

export async function mountRoutes(
  server: FastifyInstance,
  routes: readonly RouteEntry[],
  deps: MountDeps,
): Promise<void> {
  for (const format of bodyFormats) {
    await server.register(async (context) => {
      context.addContentTypeParser(
        mediaTypes[format],
        { parseAs: 'buffer' },
        async (_: FastifyRequest, body: Buffer) => parsers[format](body),
      );
      for (const entry of routes) if ((entry.accepts ?? 'json') === format) mount(context, entry, deps);
    });
  }
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] as string;

function mount(
  context: FastifyInstance,
  entry: RouteEntry,
  { guard, runIdempotent, writeQueue, readQueues, requests, closing }: MountDeps,
): void {
  const respond = createResponder(entry);
  // Introspection is a read in the form of a POST, and hot. Requests without a caller have no organization.
  // A poll waits for long, and would keep the writes of its organization waiting.
  const isWrite =
    entry.method !== 'GET' &&
    entry.access.kind !== 'clientOrScope' &&
    !entry.longLived &&
    entry.queued !== false;
  const { cost } = entry;
  const queueOf = ({ query }: FastifyRequest): FairQueue | undefined => {
    if (isWrite) return writeQueue;
    const own = typeof cost === 'function' ? cost(query as never) : cost;
    return own && readQueues[own];
  };
  const withWriteLimit = <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => T | Promise<T>,
  ): T | Promise<T> => {
    const caller = request.requestContext?.caller;
    const queue = queueOf(request);
    if (!queue || !caller) return work();
    // A read whose client has gone gives up its turn: its organization's next read does not wait for it. A write is done once sent.
    const signal = isWrite ? undefined : endSignal(request.raw, reply.raw);
    return queue(caller.organizationId, async () => work(), signal);
  };
  context.route({
    method: [entry.method, ...(entry.alsoMethods ?? [])],
    url: entry.path,
    config: { entry },
    ...(entry.accepts === 'form' && { bodyLimit: maxFormBytes }),
    schema: schemaOf(entry),
    async handler(request, reply) {
      requests.count += 1;
      const requestContext = request.requestContext as RequestContext;
      const handle = (caller: Caller | undefined) =>
        entry.handler({
          params: request.params as never,
          query: request.query as never,
          body: request.body as never,
          caller: caller as Caller,
          origin: requestContext.origin,
          headers: request.headers,
          header: (name, value) => void reply.header(name, value),
          countAgainst(subject) {
            if (subject === 'address')
              return guard.countAgainst(reply, requestContext, undefined, null, entry);
            requestContext.client = subject;
            const { clientId, rateLimitPerMinute } = subject;
            return guard.countAgainst(reply, requestContext, clientId, rateLimitPerMinute, entry);
          },
          refuseExceeded: ({ clientId: agentId, rateLimitPerMinute = null }) =>
            guard.refuseExceeded(reply, requestContext, { agentId, rateLimitPerMinute }, entry),
          endSignal: () => endSignal(request.raw, reply.raw, closing),
          recheckAccess: () => guard.recheck(request, entry),
          sendInner: (operations, inner) =>
            createSendInner(context, request, requestContext)(operations, inner),
        });
      const { caller } = requestContext;
      const header = request.headers[idempotencyHeader];
      if (!entry.idempotent || header === undefined || !caller) {
        const result = withWriteLimit(request, reply, () => handle(caller));
        respond(result instanceof Promise ? await result : result, request, reply);
        // A promise of a reply takes three more microtasks.
        return reply.sent ? undefined : reply;
      }
      const result = await withWriteLimit(request, reply, () =>
        runIdempotent(
          { entry, caller, header, path: pathOf(request), body: request.body },
          {
            create: async (idempotentCaller) => handle(idempotentCaller),
            serialize: (body) =>
              String(reply.serializeInput(body as Record<string, unknown>, String(successStatus(entry)))),
          },
        ),
      );
      if ('created' in result) return respond(result.created, request, reply);
      reply.header(replayedHeader, 'true').header('cache-control', 'no-store');
      return reply.code(successStatus(entry)).type(jsonType).send(result.replayed);
    },
  });
}

function createResponder(entry: RouteEntry) {
  const status = successStatus(entry);
  /** A deep-frozen body is serialized once, by the response schema of this route. */
  const serialize = memoize((body: Record<string, unknown>, reply: FastifyReply) =>
    String(reply.serializeInput(body, String(status))),
  );
  return (body: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const location = redirectTarget(body);
    if (location !== undefined) return reply.code(302).header('location', location).send();
    const whole = wholeAnswerOf(body);
    if (whole) return reply.code(whole.status).type(whole.type).send(whole.text);
    reply.code(status);
    if (isDeepFrozen(body) && !entry.produces) return reply.type(jsonType).send(serialize(body, reply));
    if (isStaticContent(body)) {
      if (!reply.hasHeader('content-type')) reply.type(entry.produces ?? jsonType);
      return sendStaticContent(body, request, reply);
    }
    if (entry.produces && !reply.hasHeader('content-type')) reply.type(entry.produces);
    if (!isStream(body)) return reply.send(body);
    // Fastify reads what it does not send, and logs an error when that ends with the response.
    if (request.method === 'HEAD') {
      void body[Symbol.asyncIterator]().return?.();
      return reply.send(Readable.from([]));
    }
    // No read-ahead: it would hold memory besides the chunk that is being sent.
    return reply.send(Readable.from(body, { objectMode: false, highWaterMark: 0 }));
  };
}

/** Chunks of text, written as they come. */
const isStream = (body: unknown): body is AsyncIterable<string> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !('pipe' in body);
