/**
 * Who may, where fixed scopes do not say it: a question to the policy engine (adapters/cedar.ts), which decides by the
 * files in policies/. Whatever goes wrong, the answer is no.
 */
import { neverDelegated, type PolicyAction } from '../contract/actions.ts';
import type { ErrorCode } from '../contract/errors.ts';
import type { Caller } from './caller.ts';
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

/** Whom every policy must refuse this. */
export const anonymousRequest: PolicyRequest = {
  agentId: nilUuid,
  organizationId: nilUuid,
  scopes: [],
  role: 'none',
  action: 'organizations:create',
  resource: instance,
};

export interface PolicyEngine {
  allows(question: PolicyRequest): boolean;
}

/** Policies that cannot be read or are not valid: nothing starts with these. */
export class PolicyProblem extends Error {}

/**
 * Lets the caller go on, or records the refusal and fails: 403 FORBIDDEN, or `foreign` (a not-found) when the caller may
 * do the same at home, who learns nothing about other organizations that way.
 */
export type RequirePermission = (
  caller: Caller,
  action: PolicyAction,
  resource: PolicyResource,
  refusal?: {
    foreign?: ErrorCode;
    message?: string;
    /** Fails in its own way, or leaves it to us. */
    refuse?: () => void;
  },
) => Promise<void>;

export function createRequirePermission(deps: {
  engine: PolicyEngine;
  /** The caller's membership in its own organization. */
  roleOf(caller: Caller): Promise<Role>;
  recordRefusal(caller: Caller, action: PolicyAction): Promise<void>;
}): RequirePermission {
  const { engine, roleOf, recordRefusal } = deps;
  return async (caller, action, resource, { foreign, message, refuse } = {}) => {
    const { agentId, organizationId } = caller;
    if (caller.delegation && neverDelegated.has(action)) {
      await recordRefusal(caller, action);
      const reason = `${action} cannot be delegated: use a token of the agent itself.`;
      fail('FORBIDDEN', { details: { action }, message: reason });
    }
    // Sorted, so that equal questions are equal text and the engine can remember its answer.
    const who = { agentId, organizationId, scopes: [...caller.scopes].sort(), role: await roleOf(caller) };
    if (engine.allows({ ...who, action, resource })) return;
    await recordRefusal(caller, action);
    const home = organization(organizationId);
    if (foreign && resource.type === 'Organization' && engine.allows({ ...who, action, resource: home }))
      fail(foreign);
    refuse?.();
    fail('FORBIDDEN', { details: { action }, ...(message !== undefined && { message }) });
  };
}
