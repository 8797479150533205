/**
 * Resources: the customers' own APIs, the organizations that they are shared with, and the grants that say which of their scopes an
 * agent may hold. Owns `resources`, `resource_shares`, `resource_grants` and `grant_epochs`, which a trigger writes. A grant never
 * exceeds its resource or share: a change that narrows either narrows the grants in the same transaction. The tokens feature issues
 * the tokens.
 */
import { isOperator } from '../../kernel/caller.ts';
import { compareGrants, findAgentGrant, findAgentGrants } from './access-store.ts';
import type { ResourceDeps, Resources } from './deps.ts';
import { createGrantingRule } from './granting-rule.ts';
import { createGrantService } from './grants.ts';
import { listUsableGrants } from './grants-store.ts';
import { resourceRoutes } from './routes.ts';
import { createResourceService } from './service.ts';
import { createShareService } from './shares.ts';

export function createResources(deps: ResourceDeps): Resources {
  const refuseGranting = createGrantingRule(deps);
  return {
    routes: resourceRoutes(
      createResourceService(deps),
      createShareService(deps),
      createGrantService(deps, refuseGranting),
    ),
    access: {
      findGrant: findAgentGrant,
      findGrants: findAgentGrants,
      async refuseGrantsBeyond(tx, caller, { agentId, organizationId }) {
        if (isOperator(caller) || agentId === caller.agentId) return;
        const grants = await compareGrants(tx, agentId, caller.agentId);
        if (grants.length > 0) await refuseGranting(tx, caller, organizationId, grants);
      },
    },
    listGrants: (agentId, limit) => listUsableGrants(deps.db, agentId, limit),
  };
}
