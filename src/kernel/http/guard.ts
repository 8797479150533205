/**
 * The guard: one list of steps before the body is read, each failing closed. A client that sends its credentials in a form
 * (`clientOrScope`) takes the same steps after the form was read. The guard sets the rate-limit headers before it refuses, so that
 * refusals carry them too.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PlanTier } from '../../contract/limits.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Actor, Caller, Delegation, Origin } from '../caller.ts';
import type { MaybePromise } from '../concurrency/maybe-promise.ts';
import { Overloaded } from '../concurrency/overloaded.ts';
import { fail } from '../fail.ts';
import { anonymous, isUuid } from '../ids.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { RequirePermission } from '../policy.ts';
import type { RecordRefusal } from '../refusals.ts';
import {
  type Challenges,
  refuseClientCredentials,
  refuseUnidentified,
  requireScope,
} from './access/challenges.ts';
import {
  type ClientFields,
  hasProof,
  mayCarryClientCredentials,
  readClientFields,
} from './access/client-credentials.ts';
import { networkOf } from './address.ts';
import { validationError } from './input/validation.ts';
import type { RateWindow, WindowState } from './rate-window.ts';
import type { Access, AccessCheck, CountAgainst, RouteEntry } from './route.ts';

/**
 * The content of a verified access token, or the scopes of an authenticated client, and the current state of its organization.
 * Requests with the same token share it.
 */
export interface Identity {
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly planTier: PlanTier;
  readonly scopes: ReadonlySet<Scope>;
  readonly grantableScopes: ReadonlySet<Scope>;
  /** Absent for a client that authenticated with its credentials. */
  readonly tokenId?: string;
  /** The trust policy that admitted the workload; it limits what the token may lend. */
  readonly trustPolicyId?: string;
  readonly delegation?: Delegation;
  /** The token is valid, but its delegation has ended. */
  readonly ended?: 'DELEGATION_EXPIRED' | 'DELEGATION_REVOKED';
}

/** A refused token or client: its owner (nil UUIDs if it was never ours) and the reason. */
export interface TokenRefusal {
  readonly agentId: string;
  readonly organizationId: string;
  readonly reason: string;
  /** The reason, for the client: only for a token with our signature, and for client credentials. */
  readonly description?: string;
}

export interface GuardDeps {
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
  readonly recordRefusal: RecordRefusal;
  readonly requirePermission: RequirePermission;
  /** Counts the call against its organization's plan; fails when the plan's calls of today are used up. */
  countCall(identity: Identity): Promise<void> | void;
  /** URL of the protected resource metadata (RFC 9728). */
  readonly resourceMetadata: string;
  readonly window: RateWindow;
  readonly metrics: Metrics;
}

export interface RequestContext {
  readonly origin: Origin;
  caller?: Caller;
  /** The window after it had counted this request. A request that no step has counted counts against its address (response-hooks.ts). */
  counted?: WindowState;
}

export interface Guard {
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void>;
  /** For `clientOrScope` after the form was read: authorizes a request that carries no access token. */
  authorizeClient(
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry,
  ): Promise<void>;
  countAgainst(reply: FastifyReply, context: RequestContext, clientId: string | undefined): Promise<void>;
  /** Whether the token of a request in progress would be let in again; for routes with access by scope. Counts nothing. */
  recheck(request: FastifyRequest, entry: RouteEntry): Promise<AccessCheck>;
}

export function createGuard(deps: GuardDeps): Guard {
  const {
    authenticate,
    authenticateClient,
    explain,
    recordRefusal,
    requirePermission,
    countCall,
    resourceMetadata,
    window,
    metrics,
  } = deps;
  const countAgainst = async (reply: FastifyReply, context: RequestContext, clientId: string | undefined) => {
    // A handler may call this twice: its batch is retried item by item when another item fails.
    if (!context.counted) {
      const state = window.count(subjectOf(context, clientId));
      context.counted = state instanceof Promise ? await state : state;
    }
    applyWindow(reply, context.counted, clientId);
  };

  /** The headers describe the window that all routes share, unless this window refuses or the entry says `headers: 'own'`. */
  const countInOwnWindow = async (
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
    identity: Identity | undefined,
  ) => {
    if (typeof entry?.limit !== 'object') return;
    const { per, perMinute, headers } = entry.limit;
    const subject =
      identity && per === 'organization'
        ? `organization:${identity.organizationId}`
        : subjectOf(context, identity?.agentId);
    const own = await window.count(`route:${entry.id}:${subject}`, perMinute);
    if (own.exceeded || headers === 'own') applyWindow(reply, own, identity?.agentId);
  };

  const applyWindow = (reply: FastifyReply, state: WindowState, clientId?: string) => {
    reply.headers(windowHeaders(state));
    if (!state.exceeded) return;
    metrics.count('service_rate_limit_hits_total', { client_id: clientId ?? 'anonymous' });
    fail('RATE_LIMIT_EXCEEDED', {
      details: { limit: state.limit, resetAt: state.resetAt },
      headers: { 'retry-after': String(state.retryAfterSeconds) },
    });
  };

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
    { hasHeader, token }: { hasHeader: boolean; token: string | undefined },
    identity: Identity | undefined,
  ): Promise<Identity> => {
    if (!identity) {
      const refusal = token === undefined ? undefined : await explain(token);
      if (refusal) await recordTokenRefusal(context, entry, refusal);
      else if (hasHeader) await recordTokenRefusal(context, entry, { ...anonymous, reason: 'malformed' });
      return refuseUnidentified(token, challengesFor(entry), refusal?.description);
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

  /** For routes whose effect would outlast the delegation, or look elsewhere like the agent's own act. */
  const refuseDelegated = async (caller: Caller, entry: RouteEntry | undefined) => {
    const { agentId, organizationId } = caller;
    const metadata = { operation: entry?.id, reason: 'delegated token' };
    await recordRefusal({
      actor: caller,
      type: 'policy.refused',
      subject: { agentId, organizationId, outcome: 'failure', metadata },
    });
    fail('FORBIDDEN', { message: 'A delegated token cannot do this: use a token of the agent itself.' });
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

  const requirePolicy = async (
    { action, resource, foreign, scope }: Extract<Access, { kind: 'policy' }>,
    caller: Caller,
    identity: Identity,
    request: FastifyRequest,
  ) => {
    const params = request.params as Record<string, string>;
    refuseMalformedIds(params);
    await requirePermission(caller, action, resource(caller, params), {
      ...(foreign && { foreign }),
      ...(scope && { refuse: () => requireScope(identity, scope, resourceMetadata) }),
    });
  };

  const challengesFor = (entry: RouteEntry | undefined): Challenges => ({
    metadata: resourceMetadata,
    basic: entry?.access.kind === 'clientOrScope',
  });

  /** The steps after the identity is known. */
  const admit = async (
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
    identity: Identity,
  ) => {
    const access: Access = entry?.access ?? { kind: 'open' };
    const counted = entry?.quota === 'free' ? undefined : countCall(identity);
    if (counted) await counted;
    if (access.kind === 'scope' || access.kind === 'clientOrScope')
      requireScope(identity, access.scope, resourceMetadata);
    if (access.kind === 'bearer' && access.scopedParameter) {
      const { name, scope } = access.scopedParameter;
      if (Object.hasOwn(request.query as object, name)) requireScope(identity, scope, resourceMetadata);
    }
    const caller = callerOf(identity, context);
    if (access.kind === 'bearer' && access.ownOnly && caller.delegation) await refuseDelegated(caller, entry);
    if (access.kind === 'policy') await requirePolicy(access, caller, identity, request);
    // Last: a refused request must not use up a window that an organization shares.
    if (typeof entry?.limit === 'object') await countInOwnWindow(reply, context, entry, identity);
    context.caller = caller;
  };

  const refuseClient = async (
    context: RequestContext,
    entry: RouteEntry,
    refusal: TokenRefusal,
    actor?: Actor,
  ) => {
    await recordTokenRefusal(context, entry, refusal, actor);
    return refuseClientCredentials(challengesFor(entry), refusal.description);
  };

  return {
    countAgainst,

    async authorizeClient(request, reply, context, entry) {
      const fields = readClientFields(request.body);
      const { caller } = context;
      if (caller) {
        if (hasProof(fields)) await refuseClient(context, entry, { ...caller, ...twoProofs }, caller);
        return;
      }
      const count: CountAgainst = (subject) =>
        countAgainst(reply, context, subject === 'address' ? undefined : subject.clientId);
      const client = await authenticateClient(fields, request.headers.authorization, count);
      const refused = client && 'reason' in client ? client : undefined;
      await countAgainst(reply, context, refused ? undefined : client?.agentId);
      if (refused) return refuseClient(context, entry, refused);
      const noToken = { hasHeader: false, token: undefined };
      const identity = await requireIdentity(context, entry, noToken, client as Identity | undefined);
      await admit(request, reply, context, entry, identity);
    },

    async recheck({ headers }, { access }) {
      const token = bearerToken(headers.authorization);
      const identity = token === undefined ? undefined : await authenticate(token);
      if (!identity || !isUsable(identity)) return 'invalidToken';
      return access.kind === 'scope' && identity.scopes.has(access.scope) ? 'allowed' : 'noScope';
    },

    async authorize(request, reply, context, entry) {
      if (entry?.isOverloaded?.()) throw new Overloaded();
      if (entry?.access.kind === 'clientOrScope' && mayCarryClientCredentials(request)) return;
      const token = bearerToken(request.headers.authorization);
      const known = token === undefined ? undefined : authenticate(token);
      const authenticated = known instanceof Promise ? await known : known;

      if (entry?.limit !== 'afterVerification') await countAgainst(reply, context, authenticated?.agentId);

      // Only the 404 handler has no entry; a route cannot be mounted without one.
      const access: Access = entry?.access ?? { kind: 'open' };
      if (entry && access.kind === 'secret') await requireSecret(context, entry, access.secret, token);
      if (access.kind === 'open' || access.kind === 'client' || access.kind === 'secret') {
        // On open routes a handler may show more to an authenticated caller.
        if (access.kind === 'open' && authenticated && isUsable(authenticated))
          context.caller = callerOf(authenticated, context);
        return countInOwnWindow(reply, context, entry, authenticated);
      }

      const hasHeader = request.headers.authorization !== undefined;
      const identity =
        authenticated && isUsable(authenticated)
          ? authenticated
          : await requireIdentity(context, entry, { hasHeader, token }, authenticated);
      await admit(request, reply, context, entry, identity);
    },
  };
}

const isUsable = ({ organizationStatus, ended }: Identity): boolean =>
  organizationStatus === 'active' && !ended;

const callerOf = (
  { agentId, organizationId, scopes, grantableScopes, tokenId, trustPolicyId, delegation }: Identity,
  { origin }: RequestContext,
): Caller => ({
  ...origin,
  agentId,
  organizationId,
  scopes,
  grantableScopes,
  ...(tokenId !== undefined && { tokenId }),
  ...(trustPolicyId !== undefined && { trustPolicyId }),
  ...(delegation && { delegation }),
});

export const windowHeaders = (state: WindowState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
  'x-ratelimit-reset': String(state.resetAt),
});

export const subjectOf = (context: RequestContext, clientId?: string): string =>
  clientId === undefined ? `ip:${networkOf(context.origin.ipAddress)}` : `client:${clientId}`;

const twoProofs = {
  reason: 'two proofs',
  description: 'Send one proof: an access token, HTTP Basic, or client credentials in the body.',
};

function bearerToken(header: string | undefined): string | undefined {
  const [scheme] = /^Bearer +/i.exec(header ?? '') ?? [];
  const token = scheme && header?.slice(scheme.length);
  return !token || token.includes(' ') || token.includes('\t') ? undefined : token;
}

/** Validation comes after the guard, but policies and recorded refusals need well-formed ids. */
function refuseMalformedIds(params: Record<string, string>): void {
  const problems = Object.keys(params)
    .filter((name) => !isUuid(params[name] ?? ''))
    .map((field) => ({ in: 'path', field, message: 'must be a UUID' }));
  if (problems.length > 0) throw validationError('path', problems);
}

const constantTimeEqual = (expected: string, given: string): boolean => {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
};
