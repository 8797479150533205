/**
 * Organizations: the tenants, and the roles of agents in them. Owns `organizations` and `memberships`.
 * The agents feature owns agents; the tiers feature owns plan usage and upgrades.
 */

import type { OrganizationDeps, Organizations } from './deps.ts';
import { organizationRoutes } from './routes.ts';
import { createOrganizationService } from './service.ts';

export function createOrganizations(deps: OrganizationDeps): Organizations {
  const service = createOrganizationService(deps);
  return { ...service, routes: organizationRoutes(service) };
}
