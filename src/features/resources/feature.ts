/**
 * Resources: the customers' own APIs, the organizations that they are shared with, and the grants that say which of their scopes an
 * agent may hold. Owns `resources`, `resource_shares`, `resource_share_offers`, `resource_grants` and `grant_epochs`, which a trigger
 * writes. A grant never exceeds its resource or share: a change that narrows either narrows the grants in the same transaction. The
 * tokens feature issues the tokens.
 */
import { resourceClaims } from '../../kernel/ports/resources.ts';
import { refuseOwnAgent } from '../../kernel/provisioned-proofs.ts';
import { compareGrants, findAgentGrant, findAgentGrants, findGrantsCarrying } from './access-store.ts';
import type { ResourceDeps, Resources } from './deps.ts';
import { createGrantingRule, createRefusalRecorder, createRevocation, mayGrantAll } from './granting-rule.ts';
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
  const revokeGrants = createRevocation(refuseGranting);
  const recordingRefusals = createRefusalRecorder(deps);
  return {
    routes: [
      ...resourceRoutes(
        recordingRefusals(createResourceService(deps, refuseGranting, revokeGrants)),
        createVerificationService(deps),
        recordingRefusals(createGrantService(deps, refuseGranting, revokeGrants)),
      ),
      ...shareRoutes(
        recordingRefusals(createShareService(deps, revokeGrants)),
        recordingRefusals(createReceivedShareService(deps, revokeGrants)),
      ),
    ],
    access: {
      findGrant: findAgentGrant,
      findGrants: findAgentGrants,
      async refuseGrantsBeyond(tx, caller, { agentId, organizationId }) {
        if (mayGrantAll(caller) || agentId === caller.agentId) return;
        const grants = await compareGrants(tx, agentId, caller.agentId);
        if (grants.length > 0) await refuseGranting(tx, caller, organizationId, grants);
      },
      async refuseClaimChange(tx, caller, { agentId, organizationId }, fields) {
        const changed = resourceClaims.filter((claim) => fields.includes(claim));
        const grants = changed.length === 0 ? [] : await findGrantsCarrying(tx, agentId, changed);
        if (grants.length === 0) return;
        await refuseOwnAgent(tx, caller, agentId);
        if (!mayGrantAll(caller)) await refuseGranting(tx, caller, organizationId, grants);
      },
    },
    listGrants: (agentId, limit) => listUsableGrants(deps.db, agentId, limit),
  };
}
