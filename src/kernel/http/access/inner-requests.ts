/**
 * Requests that this server sends to its own API for a caller that the guard has let in, such as those behind a tool of the MCP server. They
 * take the steps of every request: limits, plan, scope or policy, validation, response schema. Only the identity is that of the request
 * they belong to, which no header can claim: it travels beside the request, in this process.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Origin } from '../../caller.ts';
import { fail } from '../../fail.ts';
import { isCountedByHandler, type RouteEntry } from '../route.ts';
import type { AuthorizeCaller } from './authorize-caller.ts';
import { callerOf, type Identity, type RequestContext } from './identity.ts';
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

export type SendInner = (request: InnerRequest) => Promise<InnerResponse>;

interface Outer {
  readonly identity: Identity;
  readonly origin: Origin;
}

const sending = new AsyncLocalStorage<Outer>();
const outers = new WeakMap<IncomingMessage, Outer>();

/** For Fastify, before it routes. */
export function markInner(request: IncomingMessage): void {
  const outer = sending.getStore();
  if (outer) outers.set(request, outer);
}

export const outerOf = (request: IncomingMessage): Outer | undefined => outers.get(request);

/** A context without an identity cannot send: the guard has not let it in. */
export const createSendInner =
  (server: FastifyInstance, { identity, origin }: RequestContext): SendInner =>
  async ({ method, url, headers, body }) => {
    if (!identity) throw new Error('a request without a caller sends no requests of its own');
    // Fastify sends when somebody waits, which must be inside.
    const answer = await sending.run({ identity, origin }, async () =>
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

/** The steps of the guard for these requests. Routes for clients with a proof of their own do not exist here. */
export const createAuthorizeInner =
  ({ countAgainst, countInOwnWindow }: RateLimiter, authorizeCaller: AuthorizeCaller) =>
  async (
    { identity }: Outer,
    ...[request, reply, context, entry]: [
      Parameters<AuthorizeCaller>[0],
      FastifyReply,
      RequestContext,
      RouteEntry | undefined,
    ]
  ): Promise<void> => {
    if (!isCountedByHandler(entry))
      await countAgainst(reply, context, identity.agentId, identity.rateLimitPerMinute);
    const kind = entry?.access.kind;
    if (kind === undefined || ['client', 'secret', 'resourceToken', 'session'].includes(kind))
      fail('ROUTE_NOT_FOUND');
    if (kind !== 'open') return authorizeCaller(request, reply, context, entry, identity);
    context.caller = callerOf(identity, context);
    return countInOwnWindow(reply, context, entry, identity);
  };
