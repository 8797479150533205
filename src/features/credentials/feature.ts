/**
 * Credentials: the secrets by which agents prove who they are. Owns the `credentials` table and shows a secret once.
 * Whether a secret is right is asked by the tokens feature, which reads the hashes for that.
 */

import type { CredentialDeps, Credentials } from './deps.ts';
import { credentialRoutes } from './routes.ts';
import { createCredentialService } from './service.ts';

export function createCredentials(deps: CredentialDeps): Credentials {
  const service = createCredentialService(deps);
  deps.metrics.gaugeFromQuery('service_credentials_expiring_soon_total', service.countExpiringSoon);
  return { ...service, routes: credentialRoutes(service) };
}
