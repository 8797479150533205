/**
 * Who gets in: one list of steps before the body is read, each failing closed. Headers of the rate window are set on
 * the way, so that refusals carry them too.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PlanTier } from '../../contract/limits.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Actor, Caller, Delegation, Origin } from '../caller.ts';
import { fail } from '../fail.ts';
import { anonymous, isUuid } from '../ids.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { RequirePermission } from '../policy.ts';
import type { RecordRefusal } from '../refusals.ts';
import { networkOf } from './address.ts';
import { validationError } from './input/validation.ts';
import type { RateWindow, WindowState } from './rate-window.ts';
import type { Access, RouteEntry } from './route.ts';

/** What a verified access token says, and how its organization stands now. Requests with the same token share it. */
export interface Identity {
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly planTier: PlanTier;
  readonly scopes: ReadonlySet<Scope>;
  readonly grantableScopes: ReadonlySet<Scope>;
  readonly tokenId: string;
  readonly delegation?: Delegation;
  /** The token was good, but what was delegated by it is over. */
  readonly ended?: 'DELEGATION_EXPIRED' | 'DELEGATION_REVOKED';
}

/** Whose a token was that is not taken (nobody's, if it was never ours), and why it is not. */
export interface TokenRefusal {
  readonly agentId: string;
  readonly organizationId: string;
  readonly reason: string;
}

export interface GuardDeps {
  /** Undefined for anything but a live token of ours. */
  authenticate(token: string): Promise<Identity | undefined>;
  /** Of a token that is none: what it is. */
  explain(token: string): Promise<TokenRefusal>;
  readonly recordRefusal: RecordRefusal;
  readonly requirePermission: RequirePermission;
  /** Counts the call against its organization's plan; refuses it when the plan is used up for today. */
  countCall(identity: Identity): Promise<void> | void;
  /** Address of the document that tells a client how to get in (RFC 9728). */
  readonly resourceMetadata: string;
  readonly window: RateWindow;
  readonly metrics: Metrics;
}

export interface RequestContext {
  readonly origin: Origin;
  caller?: Caller;
  /** How the window stood when it had counted this request; what no step has counted, the server counts against the address. */
  counted?: WindowState;
}

export interface Guard {
  authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
  ): Promise<void>;
  countAgainst(reply: FastifyReply, context: RequestContext, clientId: string | undefined): Promise<void>;
}

export function createGuard(deps: GuardDeps): Guard {
  const {
    authenticate: identify,
    explain,
    recordRefusal,
    requirePermission,
    countCall,
    resourceMetadata,
    window,
    metrics,
  } = deps;
  const countAgainst = async (reply: FastifyReply, context: RequestContext, clientId: string | undefined) => {
    // A handler may ask again, when its work had to be done anew because somebody else's failed beside it.
    context.counted ??= await window.count(subjectOf(context, clientId));
    applyWindow(reply, context.counted, clientId);
  };

  /** The headers go on telling of the window that all routes share, until this one is what refuses, or unless told otherwise. */
  const countInOwnWindow = async (
    reply: FastifyReply,
    context: RequestContext,
    entry: RouteEntry | undefined,
    identity: Identity | undefined,
  ) => {
    if (typeof entry?.limit !== 'object') return;
    const { per, perMinute, headers: shown } = entry.limit;
    const whose =
      identity && per === 'organization'
        ? `organization:${identity.organizationId}`
        : subjectOf(context, identity?.agentId);
    const own = await window.count(`route:${entry.id}:${whose}`, perMinute);
    if (own.exceeded || shown === 'own') applyWindow(reply, own, identity?.agentId);
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

  /** Every refused token leaves one event, before it is answered, within the limit for unauthenticated requests. */
  const refuse = async (
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

  const identified = async (
    context: RequestContext,
    entry: RouteEntry | undefined,
    { shown, token }: { shown: boolean; token: string | undefined },
    identity: Identity | undefined,
  ): Promise<Identity> => {
    if (!identity) {
      if (token !== undefined) await refuse(context, entry, await explain(token));
      else if (shown) await refuse(context, entry, { ...anonymous, reason: 'malformed' });
      return refuseUnidentified(token, resourceMetadata);
    }
    if (identity.organizationStatus !== 'active') {
      const reason = `organization ${identity.organizationStatus}`;
      await refuse(context, entry, { ...identity, reason }, callerOf(identity, context));
      fail('ORG_SUSPENDED');
    }
    if (identity.ended) {
      await refuse(context, entry, { ...identity, reason: 'delegation ended' }, callerOf(identity, context));
      fail(identity.ended);
    }
    return identity;
  };

  /** For routes whose effect would outlast the delegation, or be taken elsewhere for the agent's own. */
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
    if (secret === undefined || isSame(secret, token ?? '')) return;
    if (token !== undefined) await refuse(context, entry, { ...anonymous, reason: 'wrong secret' });
    refuseUnidentified(token, resourceMetadata);
  };

  return {
    countAgainst,
    async authorize(request, reply, context, entry) {
      const token = bearerToken(request.headers.authorization);
      const known = token === undefined ? undefined : await identify(token);

      if (entry?.limit !== 'afterVerification') await countAgainst(reply, context, known?.agentId);

      // Only the 404 handler has no entry; a route cannot be mounted without one.
      const access: Access = entry?.access ?? { kind: 'open' };
      if (entry && access.kind === 'secret') await requireSecret(context, entry, access.secret, token);
      if (access.kind === 'open' || access.kind === 'client' || access.kind === 'secret') {
        // Where anyone may come in, a handler may still show more to somebody it knows.
        if (access.kind === 'open' && known?.organizationStatus === 'active' && !known.ended)
          context.caller = callerOf(known, context);
        return countInOwnWindow(reply, context, entry, known);
      }

      const shown = request.headers.authorization !== undefined;
      const identity = await identified(context, entry, { shown, token }, known);
      if (entry?.quota !== 'free') await countCall(identity);
      if (access.kind === 'scope') requireScope(identity, access.scope, resourceMetadata);
      const caller = callerOf(identity, context);
      if (access.kind === 'bearer' && access.ownOnly && caller.delegation)
        await refuseDelegated(caller, entry);
      if (access.kind === 'policy') {
        const { action, foreign, scope } = access;
        const params = request.params as Record<string, string>;
        refuseMalformedIds(params);
        const resource = access.resource(caller, params);
        await requirePermission(caller, action, resource, {
          ...(foreign && { foreign }),
          ...(scope && { refuse: () => requireScope(identity, scope, resourceMetadata) }),
        });
      }
      // Last, so that nobody who may not come in can use up what the others of an organization share.
      await countInOwnWindow(reply, context, entry, identity);
      context.caller = caller;
    },
  };
}

const callerOf = (
  { agentId, organizationId, scopes, grantableScopes, tokenId, delegation }: Identity,
  { origin }: RequestContext,
): Caller => ({
  ...origin,
  agentId,
  organizationId,
  scopes,
  grantableScopes,
  tokenId,
  ...(delegation && { delegation }),
});

export const windowHeaders = (state: WindowState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
  'x-ratelimit-reset': String(state.resetAt),
});

export const subjectOf = (context: RequestContext, clientId?: string): string =>
  clientId === undefined ? `ip:${networkOf(context.origin.ipAddress)}` : `client:${clientId}`;

function bearerToken(header: string | undefined): string | undefined {
  const [scheme] = /^Bearer +/i.exec(header ?? '') ?? [];
  const token = scheme && header?.slice(scheme.length);
  return !token || token.includes(' ') || token.includes('\t') ? undefined : token;
}

function refuseUnidentified(token: string | undefined, metadata: string): never {
  return token === undefined
    ? fail('UNAUTHORIZED', { headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` } })
    : fail('UNAUTHORIZED', {
        message: 'The access token is expired, revoked or not one of ours.',
        headers: { 'www-authenticate': `Bearer error="invalid_token", resource_metadata="${metadata}"` },
      });
}

function requireScope(identity: Identity, needed: Scope, metadata: string): void {
  if (identity.scopes.has(needed)) return;
  fail('INSUFFICIENT_SCOPE', {
    message: `This operation needs the scope ${needed}, which your token does not carry.`,
    details: { required: needed, held: [...identity.scopes] },
    headers: {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}", resource_metadata="${metadata}"`,
    },
  });
}

/** Validation comes after the guard, but a policy must not be asked about, nor a refusal recorded for, what is no id. */
function refuseMalformedIds(params: Record<string, string>): void {
  const problems = Object.keys(params)
    .filter((name) => !isUuid(params[name] ?? ''))
    .map((field) => ({ in: 'path', field, message: 'must be a UUID' }));
  if (problems.length > 0) throw validationError('path', problems);
}

const isSame = (expected: string, given: string): boolean => {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
};
