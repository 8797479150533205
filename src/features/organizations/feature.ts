/**
 * Organizations: the tenants, and the roles of agents in them. Owns `organizations` and `memberships`.
 * The agents feature owns agents; the tiers feature owns plan usage and upgrades.
 */

import type { RequirePermission } from '../../kernel/policy.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { ProvisionedProofs } from '../provisioned-proofs/feature.ts';
import type { FindPolicyPower } from '../workload-identity/policies/store.ts';
import { organizationRoutes } from './routes.ts';
import { createOrganizationService } from './service.ts';

export { listOrganizationNames } from './store.ts';

export interface OrganizationDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly requirePermission: RequirePermission;
  readonly agentFor: AgentService['get'];
  readonly refuseOwnAgent: ProvisionedProofs['refuseOwnAgent'];
  readonly refuseLastingPower: ProvisionedProofs['refuseLastingPower'];
  readonly findPolicyPower: FindPolicyPower;
}

export function createOrganizations(deps: OrganizationDeps) {
  const service = createOrganizationService(deps);
  return { ...service, routes: organizationRoutes(service) };
}

export type Organizations = ReturnType<typeof createOrganizations>;
