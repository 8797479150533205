/**
 * The guard: one list of steps before the body is read. All steps fail closed. A client that sends its credentials in a form
 * (`clientOrScope`, `clientOrBearer`) takes the same steps after the form was read. The guard sets the rate-limit headers before it refuses, so that
 * refusals carry them too. access/ has the parts of the list.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../caller.ts';
import type { MaybePromise } from '../concurrency/maybe-promise.ts';
import { fail } from '../fail.ts';
import { anonymous } from '../ids.ts';
import type { Metrics } from '../observability/metrics.ts';
import { Overloaded } from '../overloaded.ts';
import { type AuthorizeCallerDeps, createAuthorizeCaller } from './access/authorize-caller.ts';
import { type Challenges, refuseClientCredentials, refuseUnidentified } from './access/challenges.ts';
import {
  acceptsClientCredentials,
  type ClientFields,
  hasProof,
  mayCarryClientCredentials,
  readClientFields,
} from './access/client-credentials.ts';
import {
  callerOf,
  type Identity,
  isUsable,
  type RequestContext,
  type TokenRefusal,
} from './access/identity.ts';
import { createAuthorizeInner, outerOf } from './access/inner-requests.ts';
import {
  createCheckPossession,
  type PossessionDeps,
  type PossessionRefusal,
  type PresentedToken,
  presentedToken,
} from './access/possession.ts';
import { createRateLimiter, type RateLimiter } from './access/rate-limiter.ts';
import {
  createAuthorizeSession,
  findSession,
  isForeignSubresource,
  isSessionRequest,
  type SessionDeps,
} from './access/session-requests.ts';
import type { RateWindow } from './rate-window.ts';
import { type Access, type AccessCheck, type CountAgainst, type RouteEntry, scopeToAskFor } from './route.ts';

export interface GuardDeps extends AuthorizeCallerDeps, SessionDeps {
  /** Undefined unless the token is ours and live. */
  authenticate(token: string): MaybePromise<Identity | undefined>;
  /** The reason why `authenticate` gave undefined. */
  explain(token: string): Promise<TokenRefusal>;
  /**
   * A client by its credentials, or why they are refused; undefined when the request has none. It counts the request before it
   * writes; the guard counts it otherwise.
   */
  authenticateClient(
    fields: ClientFields,
    authorization: string | undefined,
    count: CountAgainst,
  ): Promise<Identity | TokenRefusal | undefined>;
  readonly possession: PossessionDeps;
  readonly window: RateWindow;
  readonly metrics: Metrics;
}

export interface Guard {
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void>;
  /** For routes that accept client credentials, after the form was read: authorizes a request that carries no access token. */
  authorizeClient(
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry,
  ): Promise<void>;
  readonly countAgainst: RateLimiter['countAgainst'];
  readonly refuseExceeded: RateLimiter['refuseExceeded'];
  /** Whether the token of a request in progress would be let in again; for routes with access by scope. Counts nothing. */
  recheck(request: FastifyRequest, entry: RouteEntry): Promise<AccessCheck>;
}

export function createGuard(deps: GuardDeps): Guard {
  const { authenticate, authenticateClient, explain, recordRefusal, resourceMetadata, possession } = deps;
  const checkPossession = createCheckPossession(deps);
  const rateLimiter = createRateLimiter(deps);
  const { countAgainst, refuseExceeded, countInConsole, countPageFile, countForeign } = rateLimiter;
  const { countInOwnWindow, showWindow, showUnusedWindow } = rateLimiter;
  const authorizeCaller = createAuthorizeCaller(deps, rateLimiter);
  const authorizeSession = createAuthorizeSession(deps, rateLimiter, authorizeCaller);

  /** Records one event per refused token before the response, within the limit for unauthenticated requests. */
  const recordTokenRefusal = async (
    { origin }: RequestContext,
    entry: RouteEntry | undefined,
    { agentId, organizationId, reason }: TokenRefusal,
    actor: Actor = origin,
  ) => {
    const metadata = { reason, operation: entry?.id };
    await recordRefusal({
      actor,
      type: 'authentication.refused',
      subject: { agentId, organizationId, outcome: 'failure', metadata },
    });
  };

  const requireIdentity = async (
    context: RequestContext,
    entry: RouteEntry | undefined,
    { hasHeader, token, isDpop }: PresentedToken & { hasHeader: boolean },
    identity: Identity | undefined,
  ): Promise<Identity> => {
    if (!identity) {
      const refusal = token === undefined ? undefined : await explain(token);
      if (refusal) await recordTokenRefusal(context, entry, refusal);
      else if (hasHeader) await recordTokenRefusal(context, entry, { ...anonymous, reason: 'malformed' });
      return refuseUnidentified(token, challengesFor(entry, isDpop), refusal?.description);
    }
    if (identity.organizationStatus !== 'active') {
      const reason = `organization ${identity.organizationStatus}`;
      await recordTokenRefusal(context, entry, { ...identity, reason }, callerOf(identity, context));
      fail('ORG_SUSPENDED');
    }
    if (identity.ended) {
      await recordTokenRefusal(
        context,
        entry,
        { ...identity, reason: 'delegation ended' },
        callerOf(identity, context),
      );
      fail(identity.ended);
    }
    return identity;
  };

  /** A token of ours whose sender has not shown that it has the key. It says nothing about the actor. */
  const refusePossession = async (
    context: RequestContext,
    entry: RouteEntry | undefined,
    token: string | undefined,
    { agentId, organizationId }: Identity,
    { error, reason }: PossessionRefusal,
  ): Promise<never> => {
    await recordTokenRefusal(context, entry, { agentId, organizationId, reason });
    const description = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
    return refuseUnidentified(token, challengesFor(entry, true), description, error);
  };

  const requireSecret = async (
    context: RequestContext,
    entry: RouteEntry,
    secret?: string,
    token?: string,
  ) => {
    if (secret === undefined || constantTimeEqual(secret, token ?? '')) return;
    if (token !== undefined)
      await recordTokenRefusal(context, entry, { ...anonymous, reason: 'wrong secret' });
    refuseUnidentified(token, challengesFor(entry));
  };

  const challengesFor = (entry: RouteEntry | undefined, isDpop = false): Challenges => ({
    metadata: `${resourceMetadata}${entry?.ownMetadata ? entry.path : ''}`,
    basic: entry !== undefined && acceptsClientCredentials(entry.access),
    scope: entry?.ownMetadata?.scopes.join(' ') ?? scopeToAskFor(entry?.access),
    ...(isDpop && { dpop: possession.algorithms }),
  });

  const refuseClient = async (
    context: RequestContext,
    entry: RouteEntry,
    refusal: TokenRefusal,
    actor?: Actor,
  ) => {
    await recordTokenRefusal(context, entry, refusal, actor);
    return refuseClientCredentials(challengesFor(entry), refusal.description);
  };

  const tokenOf = async ({ headers }: FastifyRequest): Promise<Identity | undefined> => {
    const { token } = presentedToken(headers.authorization);
    return token === undefined ? undefined : authenticate(token);
  };
  const authorizeInner = createAuthorizeInner(tokenOf, rateLimiter, authorizeCaller);

  return {
    countAgainst,
    refuseExceeded,

    async authorizeClient(request, reply, context, entry) {
      const fields = readClientFields(request.body);
      const { caller } = context;
      if (caller) {
        if (hasProof(fields)) await refuseClient(context, entry, { ...caller, ...twoProofs }, caller);
        return;
      }
      const count: CountAgainst = (subject) =>
        subject === 'address'
          ? countAgainst(reply, context, undefined)
          : countAgainst(reply, context, subject.clientId, subject.rateLimitPerMinute);
      const client = await authenticateClient(fields, request.headers.authorization, count);
      const [refused, known] = client && 'reason' in client ? [client] : [undefined, client];
      await countAgainst(reply, context, known?.agentId, known?.rateLimitPerMinute);
      if (refused) return refuseClient(context, entry, refused);
      // A client that is named by an address has no agent without a token of its own (RFC 7009 §2.2: no error for an unknown token).
      const isNamed = fields.client_id || fields.client_assertion;
      if (!known && entry.access.kind === 'clientOrBearer' && isNamed) return;
      const noToken = { hasHeader: false, token: undefined, isDpop: false };
      const identity = await requireIdentity(context, entry, noToken, known);
      await authorizeCaller(request, reply, context, entry, identity);
    },

    async recheck(request, entry) {
      const { access } = entry;
      const identity = await (isSessionRequest(request, entry)
        ? findSession(deps, request, { isUse: false })
        : tokenOf(request));
      if (!identity || !isUsable(identity)) return 'invalidToken';
      if (access.kind === 'session') return 'allowed';
      return access.kind === 'scope' && identity.scopes.has(access.scope) ? 'allowed' : 'noScope';
    },

    async authorize(request, reply, context, entry) {
      if (request.headers.dpop !== undefined) reply.header('dpop-nonce', possession.nonce());
      if (entry?.isOverloaded?.()) throw new Overloaded();
      const outer = outerOf(request.raw);
      if (outer) return authorizeInner(outer, request, reply, context, entry);
      if (entry?.limit === 'none') return showUnusedWindow(reply, context);
      if (entry?.limit === 'static') return showWindow(reply, context);
      if (isSessionRequest(request, entry)) return authorizeSession(request, reply, context, entry);
      const isOfPages = entry?.limit === 'console' || entry?.limit === 'pageFiles';
      if (isOfPages && isForeignSubresource(request)) {
        await countForeign(reply, context);
        fail('FORBIDDEN', {
          message: 'The console and the documentation answer their own pages and followed links only.',
        });
      }
      if (entry && acceptsClientCredentials(entry.access) && mayCarryClientCredentials(request)) return;
      if (entry?.access.kind === 'resourceToken') return;
      const presented = presentedToken(request.headers.authorization);
      const { token, isDpop } = presented;
      const known = token === undefined ? undefined : authenticate(token);
      const found = known instanceof Promise ? await known : known;
      // Only the 404 handler has no entry; a route cannot be mounted without one.
      const access: Access = entry?.access ?? { kind: 'open' };
      const needsProof = (isDpop || found?.keyThumbprint !== undefined) && !hasOwnProof(access);
      // The limit of the agent also bounds the signatures that are verified for it.
      if (found && needsProof && countsCaller(entry)) await refuseExceeded(reply, context, found);
      const proof = found && needsProof ? await checkPossession(request, presented, found) : undefined;
      // A holder of the token alone does not use up the window of the agent.
      const authenticated = proof && 'error' in proof ? undefined : found;

      if (entry?.limit === 'console') await countInConsole(reply, context, undefined);
      else if (entry?.limit === 'pageFiles') await countPageFile(reply, context);
      else if (countsCaller(entry))
        await countAgainst(reply, context, authenticated?.agentId, authenticated?.rateLimitPerMinute);

      if (entry && access.kind === 'secret')
        await requireSecret(context, entry, access.secret, isDpop ? undefined : token);
      const refusal = proof && ('error' in proof ? proof : await possession.useProof(proof));
      if (access.kind === 'open' || hasOwnProof(access)) {
        // On open routes a handler may show more to an authenticated caller.
        if (access.kind === 'open' && authenticated && !refusal && isUsable(authenticated))
          context.caller = callerOf(authenticated, context);
        return countInOwnWindow(reply, context, entry, authenticated);
      }
      if (found && refusal) await refusePossession(context, entry, token, found, refusal);

      const hasHeader = request.headers.authorization !== undefined;
      const identity =
        authenticated && isUsable(authenticated)
          ? authenticated
          : await requireIdentity(context, entry, { hasHeader, ...presented }, authenticated);
      await authorizeCaller(request, reply, context, entry, identity);
    },
  };
}

const twoProofs = {
  reason: 'two proofs',
  description: 'Send one proof: an access token, HTTP Basic, or client credentials in the body.',
};

/** The guard counts the request against the agent or the address. */
const countsCaller = (entry: RouteEntry | undefined): boolean =>
  entry?.limit !== 'console' && entry?.limit !== 'pageFiles' && entry?.limit !== 'afterVerification';

/** The handler, or a fixed secret, decides instead of an access token. */
const hasOwnProof = ({ kind }: Access): boolean => kind === 'client' || kind === 'secret';

const constantTimeEqual = (expected: string, given: string): boolean => {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
};
