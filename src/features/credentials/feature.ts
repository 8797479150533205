/**
 * Credentials: the client secrets of agents. Owns `credentials` and `credential_uses`, and shows a secret once.
 * The tokens feature reads the hashes to authenticate clients, and reports each use of a credential.
 */

import type { CredentialDeps, Credentials } from './deps.ts';
import { createUsesLoop } from './loops.ts';
import { credentialRoutes } from './routes.ts';
import { createCredentialService } from './service.ts';
import { createCredentialUses } from './uses.ts';

export function createCredentials(deps: CredentialDeps): Credentials {
  const uses = createCredentialUses(deps);
  const service = createCredentialService(deps, uses);
  deps.metrics.gaugeFromQuery('service_credentials_expiring_soon_total', service.countExpiringSoon);
  return { ...service, ...uses, routes: credentialRoutes(service), loops: [createUsesLoop(uses)] };
}
