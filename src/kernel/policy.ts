/**
 * Authorization by policy, for routes where a fixed scope is not enough. The policy engine (adapters/cedar.ts) evaluates the files
 * in policies/. It fails closed.
 */
import { neverDelegated, type PolicyAction } from '../contract/actions.ts';
import type { ErrorCode } from '../contract/errors.ts';
import { scopes as allScopes, operatorScope, type Scope } from '../contract/scopes.ts';
import { type Caller, missingRole } from './caller.ts';
import { fail } from './fail.ts';
import { nilUuid } from './ids.ts';

export type Role = 'admin' | 'member' | 'none';

export type PolicyResource =
  | { readonly type: 'Instance' }
  | { readonly type: 'Organization'; readonly id: string };

export const instance: PolicyResource = { type: 'Instance' };
export const organization = (id: string): PolicyResource => ({ type: 'Organization', id: id.toLowerCase() });

export interface PolicyRequest {
  readonly agentId: string;
  readonly organizationId: string;
  readonly scopes: readonly string[];
  readonly role: Role;
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
}

/** Without scopes and role: every set of policies must refuse it. */
export const anonymousRequest: PolicyRequest = {
  agentId: nilUuid,
  organizationId: nilUuid,
  scopes: [],
  role: 'none',
  action: 'organizations:create',
  resource: instance,
};

export interface PolicyEngine {
  allows(request: PolicyRequest): boolean;
}

/** The policies cannot be read or are invalid: the server does not start. */
export class PolicyProblem extends Error {}

/**
 * Returns when the policies permit the action. Otherwise it records the refusal and fails: with 403 FORBIDDEN, or with `foreign` (a
 * not-found) when the caller may do the same in its own organization. The caller learns nothing about other organizations.
 */
export type RequirePermission = (
  caller: Caller,
  action: PolicyAction,
  resource: PolicyResource,
  refusal?: {
    foreign?: ErrorCode;
    /** Comes before the sentence that names the missing scope or role. */
    message?: string;
    /** May fail with an error of its own. */
    refuse?: () => void;
  },
) => Promise<void>;

export function createRequirePermission(deps: {
  engine: PolicyEngine;
  /** The caller's membership in its own organization. */
  roleOf(caller: Caller): Promise<Role>;
  recordRefusal(caller: Caller, action: PolicyAction): Promise<void>;
  /** URL of the protected resource metadata (RFC 9728). */
  resourceMetadata: string;
}): RequirePermission {
  const { engine, roleOf, recordRefusal, resourceMetadata } = deps;
  return async (caller, action, resource, { foreign, message, refuse } = {}) => {
    const { agentId, organizationId } = caller;
    if (caller.delegation && neverDelegated.has(action)) {
      await recordRefusal(caller, action);
      const reason = `${action} cannot be delegated: use a token of the agent itself.`;
      fail('FORBIDDEN', { details: { action }, message: reason });
    }
    const role = await roleOf(caller);
    const scopes = sorted(caller.scopes);
    const request = { agentId, organizationId, scopes, role, action, resource };
    if (engine.allows(request)) return;
    await recordRefusal(caller, action);
    const ownOrganization = organization(organizationId);
    if (
      foreign &&
      resource.type === 'Organization' &&
      engine.allows({ ...request, resource: ownOrganization })
    )
      fail(foreign);
    refuse?.();
    const missing = missingPermission(engine, request);
    const sentences = [message, describeMissing(missing, caller)].filter(Boolean);
    const scope = missingScope(missing);
    fail('FORBIDDEN', {
      details: { action },
      ...(sentences.length > 0 && { message: sentences.join(' ') }),
      ...(scope && { headers: scopeChallenge(scope, resourceMetadata) }),
    });
  };
}

/**
 * Whether the policies let the caller grant scopes of an API. A grant outlives a delegation, so the policies see the scopes that the
 * caller may grant permanently. Records nothing.
 */
export type MayGrant = (
  caller: Caller,
  role: Role,
  action: 'resources:grant' | 'agents:grant',
  organizationId: string,
) => boolean;

export const createMayGrant =
  (engine: PolicyEngine): MayGrant =>
  ({ agentId, organizationId: home, grantableScopes }, role, action, organizationId) =>
    engine.allows({
      agentId,
      organizationId: home,
      scopes: sorted(grantableScopes),
      role,
      action,
      resource: organization(organizationId),
    });

/** RFC 6750 §3.1, for a refusal that a token with this scope would not get. */
export const scopeChallenge = (needed: Scope, metadata: string) => ({
  'www-authenticate': `Bearer error="insufficient_scope", scope="${needed}", resource_metadata="${metadata}"`,
});

/** Equal requests need equal text: the engine caches its decisions by it. */
const sorted = (scopes: Iterable<string>): string[] => [...scopes].sort();

interface MissingPermission {
  readonly role: boolean;
  readonly scopes: readonly Scope[];
}

/**
 * The role or scopes, any one of which would permit the request. The engine is asked, because an operator may replace the policies.
 * The answer depends on the request alone: the engine does not know which organizations exist.
 */
const missingPermission = (engine: PolicyEngine, request: PolicyRequest): MissingPermission => ({
  role: engine.allows({ ...request, role: 'admin' }),
  scopes: allScopes.filter((scope) =>
    engine.allows({ ...request, scopes: sorted(new Set([...request.scopes, scope])) }),
  ),
});

function describeMissing({ role, scopes }: MissingPermission, caller: Caller): string | undefined {
  const admin = `the role admin in the organization${missingRole(caller)}`;
  const alternatives = [...(role ? [admin] : []), ...scopes.map((scope) => `scope ${scope}`)];
  return alternatives.length === 0 ? undefined : `Needs ${alternatives.join(', or ')}.`;
}

/** A scope is what is missing only if the role would not help. The scope of operators comes last: the smallest that is enough is named. */
const missingScope = ({ role, scopes }: MissingPermission): Scope | undefined =>
  role ? undefined : (scopes.find((scope) => scope !== operatorScope) ?? scopes[0]);
