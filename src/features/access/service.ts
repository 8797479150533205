import type { Caller } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import type { Role } from '../../kernel/policy.ts';
import type { AccessDeps } from './feature.ts';
import { type AgentAccess, maxEntries, type PolicyAccess } from './schema.ts';

export interface AccessService {
  get(caller: Caller, agentId: string): Promise<AgentAccess>;
}

const nothing = { role: null, own: [], grants: [], delegated: [], trustPolicies: [], truncated: false };

export function createAccessService(deps: AccessDeps): AccessService {
  const { agentFor, findEligibility, roleOf, listGrants, findGrants, grantedScopes } = deps;
  const { listReceivedDelegations, listActivePolicies } = deps;

  /** Limits the scopes that the policies name to those that the agent may hold now. An entry without scopes is left out. */
  const limitPolicies = async (
    agentId: string,
    { own, role }: { readonly own: readonly string[]; readonly role: Role },
    policies: readonly PolicyAccess[],
  ): Promise<PolicyAccess[]> => {
    const named = policies.flatMap(({ resources }) => resources.map(({ identifier }) => identifier));
    const identifiers = [...new Set(named)];
    const grants = await findGrants(identifiers.map((identifier) => ({ agentId, identifier })));
    const held = new Map(identifiers.map((identifier, index) => [identifier, grantedScopes(grants[index])]));
    const isHeld = (identifier: string, scope: string) => held.get(identifier)?.includes(scope) ?? false;
    return policies.map(({ policyId, name, issuer, subject, scopes, resources, actsAsAdmin }) => ({
      policyId,
      name,
      issuer,
      subject,
      scopes: scopes.filter((scope) => own.includes(scope)),
      resources: resources
        .map(({ identifier, scopes: given }) => ({
          identifier,
          scopes: given.filter((scope) => isHeld(identifier, scope)),
        }))
        .filter(({ scopes: left }) => left.length > 0),
      actsAsAdmin: actsAsAdmin && role === 'admin',
    }));
  };

  return {
    async get(caller, wantedId) {
      const { agentId, organizationId } = await agentFor(caller, wantedId);
      // Not the agent of the cache: the answer shows a change at once.
      const eligibility = (await findEligibility(agentId)) ?? fail('AGENT_NOT_FOUND');
      const { problem, scopes: own } = eligibility;
      if (problem !== undefined) return { agentId, active: false, inactiveReason: problem, ...nothing };
      const role = await roleOf({ agentId, organizationId });
      // One more than shown, to see whether there are more. One after the other: a request takes one connection at a time.
      const grants = await listGrants(agentId, maxEntries + 1);
      const received = await listReceivedDelegations(agentId, maxEntries + 1);
      const policies = await listActivePolicies(agentId, maxEntries + 1);
      return {
        agentId,
        active: true,
        inactiveReason: null,
        role: role === 'none' ? null : role,
        own: [...own],
        grants: grants.slice(0, maxEntries),
        delegated: received.slice(0, maxEntries),
        trustPolicies: await limitPolicies(agentId, { own, role }, policies.slice(0, maxEntries)),
        truncated: [grants, received, policies].some(({ length }) => length > maxEntries),
      };
    },
  };
}
