/**
 * Agents: the registry of agents and the organizations they belong to. Owns `agents`, their public keys included, and
 * `agent_counts`. The credentials feature owns secrets, the tokens feature tokens, the organizations feature plan limits.
 */

import type { Scope } from '../../contract/scopes.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/invalidating-cache.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { CredentialService } from '../credentials/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { ProvisionedProofs } from '../provisioned-proofs/feature.ts';
import type { ResourceAccess } from '../resources/access.ts';
import type { Usage } from '../usage/feature.ts';
import { createEmailIndexLoop } from './email-index-store.ts';
import { agentRoutes } from './routes.ts';
import type { PublicJwk } from './schema.ts';
import { createAgentService } from './service.ts';

export { invalidateAgents } from './agent-cache.ts';
export { dropGlobalEmailIndex } from './email-index-store.ts';

export interface AgentDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly cache: InvalidatingCache;
  readonly multiTenant: boolean;
  /** For agents that are created without `allowedScopes`, within what the creator may grant. */
  readonly defaultScopes: readonly Scope[];
  readonly lockOrganization: OrganizationService['lockOrganization'];
  readonly refuseOwnAgent: ProvisionedProofs['refuseOwnAgent'];
  readonly refuseImpersonation: OrganizationService['refuseImpersonation'];
  readonly refuseClaimChange: ResourceAccess['refuseClaimChange'];
  readonly revokeCredentialsOf: CredentialService['revokeAllOf'];
  readonly hasActiveCredentials: CredentialService['hasActive'];
  readonly secretExpiries: CredentialService['secretExpiries'];
  readonly lastTokenDates: Usage['lastTokenDates'];
  readonly countGrants: ResourceAccess['countGrants'];
  hasTrustPolicies(tx: Tx, agentId: string): Promise<boolean>;
  /** The key as stored, with a `kid`; throws with a reason when the key is unusable. */
  readPublicKey(key: PublicJwk): Promise<PublicJwk & { kid: string }>;
}

export function createAgents(deps: AgentDeps) {
  const service = createAgentService(deps);
  return {
    ...service,
    routes: agentRoutes(service),
    loops: deps.multiTenant ? [createEmailIndexLoop(deps)] : [],
  };
}

export type Agents = ReturnType<typeof createAgents>;
