/**
 * Requests of the console. `/console/api/v1/…` reaches the routes of `/api/v1/…`, and the guard authenticates such a request by its
 * session cookie. So a route cannot differ between the two, and no route of the API ever reads a cookie. A change must come from the
 * console's own origin (CSRF protection).
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail } from '../../fail.ts';
import type { RouteEntry } from '../route.ts';
import type { Admit } from './admit.ts';
import type { Counting } from './counting.ts';
import { callerOf, type Identity, type RequestContext } from './identity.ts';

export interface SessionDeps {
  /**
   * Undefined unless the header `Cookie` has a session of the console that has not ended. With `isUse`, the time without use begins
   * again; an open stream that is checked again is no use.
   */
  authenticateSession(cookies: string, options: { isUse: boolean }): Promise<Identity | undefined>;
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
  (deps: SessionDeps, { countAgainst, countInOwnWindow }: Counting, admit: Admit) =>
  async (
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void> => {
    requireSameOrigin(request, deps.origin);
    const { access, limit } = entry ?? {};
    const identity = await findSession(deps, request, { isUse: true });
    if (limit !== 'afterVerification') await countAgainst(reply, context, identity?.agentId);
    if (access?.kind === 'client' || access?.kind === 'secret') fail('ROUTE_NOT_FOUND');
    if (!identity) {
      if (access?.kind !== 'session' || !access.optional)
        refuseWithoutSession(request.headers.cookie !== undefined);
      return countInOwnWindow(reply, context, entry, undefined);
    }
    // As with a token: an open route, or none, does not count against the plan.
    if (access && access.kind !== 'open') return admit(request, reply, context, entry, identity);
    context.caller = callerOf(identity, context);
    return countInOwnWindow(reply, context, entry, identity);
  };

/** Prevents cross-site request forgery: a change must come from a page of this instance. */
function requireSameOrigin({ method, headers }: FastifyRequest, origin: string): void {
  if (method === 'GET' || method === 'HEAD') return;
  const isSameOrigin = headers['sec-fetch-site'] === 'same-origin' || headers.origin === origin;
  if (isSameOrigin && headers[consoleHeader] === '1') return;
  fail('FORBIDDEN', {
    message: `A change through the console needs the header X-Countersign-Console: 1, and Sec-Fetch-Site: same-origin or Origin: ${origin}.`,
  });
}

/** No session, or one that has ended. */
const refuseWithoutSession = (hasCookie: boolean): never =>
  fail('UNAUTHORIZED', {
    message: hasCookie ? 'Your session has ended: sign in again.' : 'Sign in to the console first.',
    headers: { 'www-authenticate': 'Cookie realm="countersign console"' },
  });
