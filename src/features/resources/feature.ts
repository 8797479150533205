/**
 * Resources: the customers' own APIs, the organizations that they are shared with, and the grants that say which of their scopes an
 * agent may hold. Owns `resources`, `resource_shares`, `resource_share_offers`, `resource_grants` and `grant_epochs`, which a trigger
 * writes. A grant never exceeds its resource or share: a change that narrows either narrows the grants in the same transaction. The
 * tokens feature issues the tokens.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { MayGrant, RequirePermission } from '../../kernel/policy.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ProvisionedProofs } from '../provisioned-proofs/feature.ts';
import type { FindPolicyPower } from '../workload-identity/policies/store.ts';
import { createResourceAccess } from './access.ts';
import { createGrantingRule, createRefusalRecorder, createRevocation } from './granting-rule.ts';
import { createGrantService } from './grants.ts';
import { listUsableGrants } from './grants-store.ts';
import type { IdentifierMode } from './identifier.ts';
import { resourceRoutes } from './routes.ts';
import { createResourceService } from './service.ts';
import { createReceivedShareService } from './shares/received-shares.ts';
import { shareRoutes } from './shares/share-routes.ts';
import { createShareService } from './shares/shares.ts';
import { createVerificationService } from './verification.ts';

export { resourceReads } from './access.ts';

export interface ResourceDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly issuer: string;
  /** Whether the owner of a resource must prove the host of its identifier. */
  readonly resourceIdentifiers: IdentifierMode;
  /** Whether tokens are issued for audiences that no organization has registered. */
  readonly unregisteredResources: 'allow' | 'refuse';
  /** Asks the host of an identifier for its proof. */
  readonly outbound: Outbound;
  readonly requirePermission: RequirePermission;
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly organizationOf: OrganizationService['describe'];
  readonly agentFor: AgentService['get'];
  readonly lockAgent: AgentService['lock'];
  readonly roleOf: OrganizationService['roleOf'];
  readonly refuseOwnAgent: ProvisionedProofs['refuseOwnAgent'];
  readonly refuseLastingPower: ProvisionedProofs['refuseLastingPower'];
  readonly mayGrant: MayGrant;
  readonly findPolicyPower: FindPolicyPower;
  /** Records that the policies do not let the caller grant. */
  recordRefusal(caller: Caller, action: 'resources:grant'): Promise<void>;
}

export function createResources(deps: ResourceDeps) {
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
    access: createResourceAccess(deps, refuseGranting),
    /** The grants of an agent, newest first. */
    listGrants: (agentId: string, limit: number) => listUsableGrants(deps.db, agentId, limit),
  };
}

export type Resources = ReturnType<typeof createResources>;
