/**
 * Access: everything that an agent can do now, and through what: its own scopes, its grants, the delegations it has received, and the
 * trust policies by which workloads become this agent. Owns no table; reads the other features through their functions.
 */

import type { AgentService } from '../agents/service.ts';
import type { DelegationService } from '../delegation/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { GrantQuery } from '../resources/audience-scopes.ts';
import type { Resources } from '../resources/feature.ts';
import type { Tokens } from '../tokens/feature.ts';
import type { WorkloadIdentity } from '../workload-identity/feature.ts';
import { accessRoutes } from './routes.ts';
import { createAccessService } from './service.ts';

/** Every list is newest first. */
export interface AccessDeps extends Pick<ResourceAccess, 'grantedScopes'> {
  readonly agentFor: AgentService['get'];
  findEligibility(agentId: string): ReturnType<Tokens['findEligibility']>;
  readonly roleOf: OrganizationService['roleOf'];
  readonly listGrants: Resources['listGrants'];
  findGrants(queries: readonly GrantQuery[]): ReturnType<ResourceAccess['findGrants']>;
  readonly listReceivedDelegations: DelegationService['listReceived'];
  readonly listActivePolicies: WorkloadIdentity['listActivePolicies'];
}

export const createAccess = (deps: AccessDeps) => ({
  routes: accessRoutes(createAccessService(deps)),
});
