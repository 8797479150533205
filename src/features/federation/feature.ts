/**
 * Federation: other identity providers that the operator trusts, and verification of their tokens. Owns `federation_partners`,
 * which belong to the whole instance. A partner's token gives no access here: only the trust policies of workload identity admit
 * external workloads as agents.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { FederationDeps } from './deps.ts';
import { federationRoutes } from './routes.ts';
import { createFederationService } from './service.ts';

export const createFederation = (deps: FederationDeps): { routes: readonly RouteEntry[] } => ({
  routes: federationRoutes(createFederationService(deps)),
});
