/** What other features need of resources and grants. */
import type { Caller } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import {
  compareGrants,
  countGrants,
  findAgentGrant,
  findAgentGrants,
  findGrantsCarrying,
  findHeldScopes,
  findPersonGrants,
} from './access-store.ts';
import {
  type AgentGrant,
  agentClaims,
  audienceScopes,
  audienceScopesOf,
  grantedScopes,
} from './audience-scopes.ts';
import { detailsProblem, readAuthorizationDetails } from './detail-types.ts';
import type { ResourceDeps } from './feature.ts';
import { mayGrantAll, type RefuseGranting } from './granting-rule.ts';
import { findLending, findLendingTarget } from './lending-store.ts';
import { findOtherUse, findPersonTarget, findTargets, joinTargets } from './targets-store.ts';

/** These need no other feature. */
export const resourceReads = {
  countGrants,
  findGrant: findAgentGrant,
  findGrants: findAgentGrants,
  findHeldScopes,
  grantedScopes,
  findTargets,
  findPersonTarget,
  findPersonGrants,
  findLendingTarget,
  findLending,
  readAuthorizationDetails,
  detailsProblem,
  joinTargets,
  findOtherUse,
};

export type ResourceAccess = ReturnType<typeof createResourceAccess>;

interface GrantHolder {
  readonly agentId: string;
  readonly organizationId: string;
}

export const createResourceAccess = (
  { unregisteredResources, refuseOwnAgent }: Pick<ResourceDeps, 'unregisteredResources' | 'refuseOwnAgent'>,
  refuseGranting: RefuseGranting,
) => ({
  ...resourceReads,
  /** The organization is that of the agent. */
  audienceScopes: (target: Parameters<typeof audienceScopes>[0], organizationId: string) =>
    audienceScopes(target, organizationId, unregisteredResources),
  audienceScopesOf: (grant: AgentGrant | undefined, organizationId: string) =>
    audienceScopesOf(grant, organizationId, unregisteredResources),
  /**
   * FORBIDDEN unless the caller could make every grant of this agent itself: a caller that gives an agent a secret, a key or a trust
   * policy can act as that agent.
   */
  async refuseGrantsBeyond(tx: Tx, caller: Caller, { agentId, organizationId }: GrantHolder): Promise<void> {
    if (mayGrantAll(caller) || agentId === caller.agentId) return;
    const grants = await compareGrants(tx, agentId, caller.agentId);
    if (grants.length > 0) await refuseGranting(tx, caller, organizationId, grants);
  },
  /**
   * FORBIDDEN when the agent has a grant for a resource whose tokens carry one of these fields, unless the caller could make that grant by
   * something other than a grant of its own. It holds for the agent itself too: an agent does not vouch for itself. A workload makes no
   * grant to its own agent, so it never vouches for it.
   */
  async refuseClaimChange(
    tx: Tx,
    caller: Caller,
    { agentId, organizationId }: GrantHolder,
    fields: readonly string[],
  ): Promise<void> {
    const changed = agentClaims.filter((claim) => fields.includes(claim));
    const grants = changed.length === 0 ? [] : await findGrantsCarrying(tx, agentId, changed);
    if (grants.length === 0) return;
    await refuseOwnAgent(tx, caller, agentId);
    if (!mayGrantAll(caller)) await refuseGranting(tx, caller, organizationId, grants);
  },
});
