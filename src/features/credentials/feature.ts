/**
 * Credentials: the client secrets of agents. Owns `credentials` and `credential_uses`, and shows a secret once.
 * The tokens feature reads the hashes to authenticate clients, and reports each use of a credential.
 */

import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { createUsesLoop } from './loops.ts';
import { credentialRoutes } from './routes.ts';
import { createCredentialService } from './service.ts';
import { createCredentialUses } from './uses.ts';

export interface CredentialDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'metrics'> {
  readonly agentFor: AgentService['get'];
  readonly lockAgent: AgentService['lock'];
  readonly refuseImpersonation: OrganizationService['refuseImpersonation'];
}

export function createCredentials(deps: CredentialDeps) {
  const uses = createCredentialUses(deps);
  const service = createCredentialService(deps, uses);
  deps.metrics.gaugeFromQuery('service_credentials_expiring_soon_total', service.countExpiringSoon);
  return { ...service, ...uses, routes: credentialRoutes(service), loops: [createUsesLoop(uses)] };
}
