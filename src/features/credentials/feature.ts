/**
 * Credentials: the client secrets of agents. Owns the `credentials` table and shows a secret once.
 * The tokens feature reads the hashes to authenticate clients.
 */

import type { CredentialDeps, Credentials } from './deps.ts';
import { credentialRoutes } from './routes.ts';
import { createCredentialService } from './service.ts';

export function createCredentials(deps: CredentialDeps): Credentials {
  const service = createCredentialService(deps);
  deps.metrics.gaugeFromQuery('service_credentials_expiring_soon_total', service.countExpiringSoon);
  return { ...service, routes: credentialRoutes(service) };
}
