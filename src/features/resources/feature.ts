/**
 * Resources: the customers' own APIs, the organizations that they are shared with, and the grants that say which of their scopes an
 * agent may hold. Owns `resources`, `resource_shares`, `resource_share_offers` and `resource_grants`. A grant never exceeds its resource or share: a change that
 * narrows either narrows the grants in the same transaction. The tokens feature issues the tokens.
 */
import { isOperator } from '../../kernel/caller.ts';
import { compareGrants, findAgentGrant, findAgentGrants } from './access-store.ts';
import type { ResourceDeps, Resources } from './deps.ts';
import { createGrantingRule } from './granting-rule.ts';
import { createGrantService } from './grants.ts';
import { listUsableGrants } from './grants-store.ts';
import { resourceRoutes } from './routes.ts';
import { createResourceService } from './service.ts';
import { createReceivedShareService } from './shares/received-shares.ts';
import { shareRoutes } from './shares/share-routes.ts';
import { createShareService } from './shares/shares.ts';
import { createVerificationService } from './verification.ts';

export function createResources(deps: ResourceDeps): Resources {
  const refuseGranting = createGrantingRule(deps);
  return {
    routes: [
      ...resourceRoutes(
        createResourceService(deps),
        createVerificationService(deps),
        createGrantService(deps, refuseGranting),
      ),
      ...shareRoutes(createShareService(deps), createReceivedShareService(deps)),
    ],
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
