/** The steps of the guard after the identity is known: the quota of the plan, the scope or the policy, the window of the route. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../caller.ts';
import { fail } from '../../fail.ts';
import { isUuid } from '../../ids.ts';
import type { RequirePermission } from '../../policy.ts';
import type { RecordRefusal } from '../../refusals.ts';
import { validationError } from '../input/validation.ts';
import type { Access, RouteEntry } from '../route.ts';
import { requireScope } from './challenges.ts';
import { callerOf, type Identity, type RequestContext } from './identity.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface AuthorizeCallerDeps {
  readonly recordRefusal: RecordRefusal;
  readonly requirePermission: RequirePermission;
  /** Counts the call against its organization's plan; fails when the plan's calls of today are used up. */
  countCall(identity: Identity): Promise<void> | void;
  /** URL of the protected resource metadata (RFC 9728). */
  readonly resourceMetadata: string;
}

export type AuthorizeCaller = (
  request: FastifyRequest,
  reply: FastifyReply,
  context: RequestContext,
  entry: RouteEntry | undefined,
  identity: Identity,
) => Promise<void>;

export function createAuthorizeCaller(
  deps: AuthorizeCallerDeps,
  { countInOwnWindow }: Pick<RateLimiter, 'countInOwnWindow'>,
): AuthorizeCaller {
  const { recordRefusal, requirePermission, countCall, resourceMetadata } = deps;

  const refuse = async (
    caller: Caller,
    entry: RouteEntry | undefined,
    { reason, message }: { reason: string; message: string },
  ): Promise<never> => {
    const { agentId, organizationId } = caller;
    const metadata = { operation: entry?.id, reason };
    await recordRefusal({
      actor: caller,
      type: 'policy.refused',
      subject: { agentId, organizationId, outcome: 'failure', metadata },
    });
    return fail('FORBIDDEN', { message });
  };

  /** For routes whose effect would outlast the delegation, or look elsewhere like the agent's own act. */
  const refuseDelegated = (caller: Caller, entry: RouteEntry | undefined) =>
    refuse(caller, entry, {
      reason: 'delegated token',
      message: 'A delegated token cannot do this: use a token of the agent itself.',
    });

  const refuseViewer = (caller: Caller, entry: RouteEntry | undefined) =>
    refuse(caller, entry, {
      reason: 'viewer',
      message:
        'You are a viewer and cannot change anything: ask an admin of the organization for the role admin.',
    });

  /** A member acts through no agent: only the routes of the console's own sessions are for members. */
  const refuseMember = (caller: Caller, entry: RouteEntry | undefined) =>
    refuse(caller, entry, {
      reason: 'member',
      message: 'You are a member: this needs the role admin or viewer of the organization.',
    });

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

  return async (request, reply, context, entry, identity) => {
    const access: Access = entry?.access ?? { kind: 'open' };
    if (identity.person?.role === 'member' && access.kind !== 'session')
      await refuseMember(callerOf(identity, context), entry);
    const counted = entry?.quota === 'free' ? undefined : countCall(identity);
    if (counted) await counted;
    if (identity.person?.role === 'none' && mayChange(entry))
      await refuseViewer(callerOf(identity, context), entry);
    if (access.kind === 'scope' || access.kind === 'clientOrScope')
      requireScope(identity, access.scope, resourceMetadata);
    if (access.kind === 'bearer' && access.scopedParameters) {
      const { names, scope } = access.scopedParameters;
      if (names.some((name) => Object.hasOwn(request.query as object, name)))
        requireScope(identity, scope, resourceMetadata);
    }
    const caller = callerOf(identity, context);
    if (access.kind === 'bearer' && access.ownOnly && caller.delegation) await refuseDelegated(caller, entry);
    if (access.kind === 'policy') await requirePolicy(access, caller, identity, request);
    // Last: a refused request must not use up a window that an organization shares.
    if (typeof entry?.limit === 'object') await countInOwnWindow(reply, context, entry, identity);
    context.caller = caller;
  };
}

/** Some routes need no scope for a change. Signing out is no change. */
const mayChange = (entry: RouteEntry | undefined): boolean =>
  entry !== undefined && entry.method !== 'GET' && entry.access.kind !== 'session' && !entry.readOnly;

/** Validation comes after the guard, but policies and recorded refusals need well-formed ids. */
function refuseMalformedIds(params: Record<string, string>): void {
  const problems = Object.keys(params)
    .filter((name) => !isUuid(params[name] ?? ''))
    .map((field) => ({ in: 'path', field, message: 'must be a UUID' }));
  if (problems.length > 0) throw validationError('path', problems);
}
