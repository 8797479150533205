/**
 * Requests that this server sends to its own API for a caller that the guard has let in, such as those behind a tool of the MCP server. They
 * take the steps of every request: limits, plan, scope or policy, validation, response schema. Only the identity is that of the request
 * they belong to. It travels beside the inner request, in this process, where no header can claim it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Origin } from '../../caller.ts';
import { fail } from '../../fail.ts';
import type { RouteEntry } from '../route.ts';
import type { AuthorizeCaller } from './authorize-caller.ts';
import { type Identity, isUsable, type RequestContext } from './identity.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface InnerRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface InnerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Another operation than one of these is not found. */
export type SendInner = (operations: readonly string[], request: InnerRequest) => Promise<InnerResponse>;

export interface Outer {
  readonly request: FastifyRequest;
  readonly origin: Origin;
  readonly operations: readonly string[];
}

/** The first request that begins inside takes `next`, and work that goes on in the same context keeps nothing. */
const sending = new AsyncLocalStorage<{ next: Outer | undefined }>();
const outers = new WeakMap<IncomingMessage, Outer>();

/** For Fastify, before it routes. */
export function markInner(request: IncomingMessage): void {
  const sent = sending.getStore();
  if (!sent?.next) return;
  outers.set(request, sent.next);
  sent.next = undefined;
}

export const outerOf = (request: IncomingMessage): Outer | undefined => outers.get(request);

/** Without a caller, the guard has let in no identity that the request could have. */
export const createSendInner =
  (server: FastifyInstance, request: FastifyRequest, { caller, origin }: RequestContext): SendInner =>
  async (operations, { method, url, headers, body }) => {
    if (!caller) throw new Error('a request without a caller sends no requests of its own');
    // Fastify sends when its answer is awaited, which must be inside.
    const answer = await sending.run({ next: { request, origin, operations } }, async () =>
      server
        .inject({
          method: method as 'GET',
          url,
          headers: { ...headers, 'x-request-id': origin.requestId, 'user-agent': origin.userAgent },
          ...(body !== undefined && { payload: body }),
        })
        .then((answered) => answered),
    );
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
      ),
      text: answer.payload,
    };
  };

const openedByToken: readonly unknown[] = ['bearer', 'scope', 'policy'];

/**
 * The steps of the guard for these requests. The token is checked again: it may have ended since. Its possession was proved by the outer
 * request.
 */
export const createAuthorizeInner =
  (
    identityOf: (outer: FastifyRequest) => Promise<Identity | undefined>,
    { countAgainst }: Pick<RateLimiter, 'countAgainst'>,
    authorizeCaller: AuthorizeCaller,
  ) =>
  async (
    outer: Outer,
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void> => {
    const identity = await identityOf(outer.request);
    if (!identity || !isUsable(identity))
      return fail('UNAUTHORIZED', { message: 'The access token has ended since the request began.' });
    await countAgainst(reply, context, identity.agentId, identity.rateLimitPerMinute);
    if (!entry || !outer.operations.includes(entry.id) || !openedByToken.includes(entry.access.kind))
      fail('ROUTE_NOT_FOUND');
    return authorizeCaller(request, reply, context, entry, identity);
  };
