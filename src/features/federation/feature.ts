/**
 * Federation: other identity providers that the operator trusts, and whether a token is one of theirs. Owns
 * `federation_partners`, which belong to the whole instance. A partner's token opens nothing here by itself: who outside
 * may become which agent is said by the trust policies of the oidc feature.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { FederationDeps } from './deps.ts';
import { federationRoutes } from './routes.ts';
import { createFederationService } from './service.ts';

export const createFederation = (deps: FederationDeps): { routes: readonly RouteEntry[] } => ({
  routes: federationRoutes(createFederationService(deps)),
});
