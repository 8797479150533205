/**
 * Who may, where fixed scopes do not say it: a question to the policy engine (adapters/cedar.ts), which decides by the
 * files in policies/. Whatever goes wrong, the answer is no.
 */
import type { PolicyAction } from '../contract/actions.ts';
import type { Caller } from './caller.ts';

export type Role = 'admin' | 'member' | 'none';

export type PolicyResource =
  | { readonly type: 'Instance' }
  | { readonly type: 'Organization'; readonly id: string };

export const instance: PolicyResource = { type: 'Instance' };
export const organization = (id: string): PolicyResource => ({ type: 'Organization', id: id.toLowerCase() });

export interface PolicyQuestion {
  readonly agentId: string;
  readonly organizationId: string;
  /** In the contract's order, so that equal questions are equal text. */
  readonly scopes: readonly string[];
  readonly role: Role;
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
}

export interface PolicyEngine {
  allows(question: PolicyQuestion): boolean;
}

/** Policies that cannot be read or are not valid: nothing starts with these. */
export class PolicyProblem extends Error {}

export type Authorize = (caller: Caller, action: PolicyAction, resource: PolicyResource) => Promise<boolean>;

export function createAuthorize(deps: {
  engine: PolicyEngine;
  /** The caller's membership in its own organization. */
  roleOf(caller: Caller): Promise<Role>;
}): Authorize {
  return async (caller, action, resource) => {
    const { agentId, organizationId } = caller;
    const scopes = [...caller.scopes].sort();
    const role = await deps.roleOf(caller);
    return deps.engine.allows({ agentId, organizationId, scopes, role, action, resource });
  };
}
