/**
 * Requests of the console. `/console/api/v1/…` reaches the routes of `/api/v1/…`, and the guard authenticates such a request by its
 * session cookie. So a route cannot differ between the two, and no route of the API ever reads a cookie. Every request must come from
 * the console's own origin (CSRF protection), and no other origin may embed the answer: not even whether an object exists leaves it.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail } from '../../fail.ts';
import { isCountedByHandler, type RouteEntry } from '../route.ts';
import type { AuthorizeCaller } from './authorize-caller.ts';
import { callerOf, type Identity, type RequestContext } from './identity.ts';
import type { RateLimiter } from './rate-limiter.ts';

interface NoSession {
  readonly message: string;
  readonly details?: Record<string, unknown>;
}

export interface SessionDeps {
  /**
   * Undefined unless the header `Cookie` has a session of the console that has not ended. With `isUse`, the time without use begins
   * again; an open stream that is checked again is no use.
   */
  authenticateSession(cookies: string, options: { isUse: boolean }): Promise<Identity | undefined>;
  /** Why the header `Cookie` has no session, for the person. */
  explainNoSession(cookies: string | undefined): NoSession;
  /** The origin of the public address, from which the console's requests come. */
  readonly origin: string;
}

const consolePrefix = '/console/api/v1/';
const apiPrefix = '/api/v1/';
/** A browser sends a header of this name to another origin only after a preflight, which allows no credentials. */
const consoleHeader = 'x-countersign-console';

const requests = new WeakSet<IncomingMessage>();

/** For Fastify, before it routes. */
export function rewriteUrl(request: IncomingMessage): string {
  const url = request.url ?? '/';
  if (!url.startsWith(consolePrefix)) return url;
  requests.add(request);
  return apiPrefix + url.slice(consolePrefix.length);
}

/** Whether the session cookie authenticates the request, and nothing else does. */
export const isSessionRequest = ({ raw }: FastifyRequest, entry: RouteEntry | undefined): boolean =>
  entry?.access.kind === 'session' || requests.has(raw);

export const findSession = async (
  { authenticateSession }: SessionDeps,
  { headers: { cookie } }: FastifyRequest,
  options: { isUse: boolean },
): Promise<Identity | undefined> => (cookie === undefined ? undefined : authenticateSession(cookie, options));

/** The steps of the guard for these requests. Routes for clients with a proof of their own do not exist here. */
export const createAuthorizeSession =
  (
    deps: SessionDeps,
    { countForeign, countInConsole, countInOwnWindow }: RateLimiter,
    authorizeCaller: AuthorizeCaller,
  ) =>
  async (
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void> => {
    reply.header('cross-origin-resource-policy', 'same-origin');
    const message = explainForeign(request, deps.origin);
    if (message !== undefined) {
      await countForeign(reply, context);
      fail('FORBIDDEN', { message });
    }
    const { access } = entry ?? {};
    const identity = await findSession(deps, request, { isUse: true });
    if (!isCountedByHandler(entry)) await countInConsole(reply, context, identity);
    if (access && ['client', 'secret', 'resourceToken'].includes(access.kind)) fail('ROUTE_NOT_FOUND');
    if (!identity) {
      if (access?.kind !== 'session' || !access.optional)
        refuseWithoutSession(deps.explainNoSession(request.headers.cookie));
      return countInOwnWindow(reply, context, entry, undefined);
    }
    // As with a token: an open route, or none, does not count against the plan.
    if (access && access.kind !== 'open') return authorizeCaller(request, reply, context, entry, identity);
    context.caller = callerOf(identity, context);
    return countInOwnWindow(reply, context, entry, identity);
  };

/** What a browser says of a request by a page of this instance, or by the person; programs send no such header. */
const ownSites: readonly unknown[] = ['same-origin', 'none', undefined];

/**
 * Whether a page of another site loads this, and not the person who follows a link. Such a page may send many, so they count apart
 * (`countForeign`) and get nothing: no other site may frame or embed the console.
 */
export const isForeignSubresource = ({ headers }: FastifyRequest): boolean =>
  !ownSites.includes(headers['sec-fetch-site']) &&
  (headers['sec-fetch-mode'] !== 'navigate' || !documents.includes(headers['sec-fetch-dest']));

const documents: readonly unknown[] = ['document', undefined];

/**
 * Why a request with a session is refused; undefined when it is not. Prevents cross-site request forgery, and that a page of the same
 * site (another port or subdomain) asks with the person's cookie. A change must prove that it comes from a page of this instance.
 */
function explainForeign({ method, headers }: FastifyRequest, origin: string): string | undefined {
  const site = headers['sec-fetch-site'];
  if (!ownSites.includes(site))
    return `Requests with a session of the console come from its own origin, ${origin}: Sec-Fetch-Site must be same-origin, none or absent.`;
  if (method === 'GET' || method === 'HEAD') return undefined;
  const isSameOrigin = site === 'same-origin' || headers.origin === origin;
  if (isSameOrigin && headers[consoleHeader] === '1') return undefined;
  return `A change through the console needs the header X-Countersign-Console: 1, and Sec-Fetch-Site: same-origin or Origin: ${origin}.`;
}

const refuseWithoutSession = (reason: NoSession): never =>
  fail('UNAUTHORIZED', {
    ...reason,
    headers: { 'www-authenticate': 'Cookie realm="countersign console"' },
  });
