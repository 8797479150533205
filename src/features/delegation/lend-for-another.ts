/** Lending the scopes of another agent: for admins and operators, who need all the power that the agent has. */

import { operatorScope } from '../../contract/scopes.ts';
import { type Caller, isOperator, tenantOf } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ChainAgent } from './feature.ts';

/**
 * FORBIDDEN, AGENT_NOT_FOUND for an agent that the caller does not see, or VALIDATION_ERROR for a client that only people let act. The
 * agent is locked.
 */
type RefuseLending = (tx: Tx, caller: Caller, lender: ChainAgent) => Promise<void>;

const refuse = (message: string): never => fail('FORBIDDEN', { message });

export const createRefuseLending =
  ({
    roleOf,
    refuseImpersonation,
  }: Pick<OrganizationService, 'roleOf' | 'refuseImpersonation'>): RefuseLending =>
  async (tx, caller, lender) => {
    const tenant = tenantOf(caller);
    if (tenant !== undefined && lender.organizationId !== tenant) fail('AGENT_NOT_FOUND');
    if (caller.delegation || caller.trustPolicyId !== undefined)
      refuse('A delegated token, or one by a trust policy, lends for its own agent only.');
    if (!caller.scopes.has('agents:write')) refuse('Lending for another agent needs scope agents:write.');
    // The caller is not the delegator: without this role it could not end the delegation.
    if (!isOperator(caller) && (await roleOf(caller, tx)) !== 'admin')
      refuse('Lending for another agent needs the role admin in its organization, or scope admin:orgs.');
    if (lender.allowedScopes.includes(operatorScope) && !isOperator(caller))
      refuse("This is an operator's agent; only an operator (scope admin:orgs) can lend for it.");
    // Such a client can have no secret of an admin either: what it may do, a person has consented to.
    if (lender.publicClient || lender.clientUri !== null) {
      const kind = lender.publicClient ? 'a public client' : 'a client with a metadata document';
      const message = `is ${kind}, which has only tokens that a person has consented to`;
      throw validationError('body', [{ in: 'body', field: 'delegatorId', message }]);
    }
    await refuseImpersonation(tx, caller, lender);
  };
