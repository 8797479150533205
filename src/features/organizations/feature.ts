/**
 * Organizations: the tenants, and who among their agents administers them. Owns `organizations` and `memberships`.
 * Which agents exist is the agents feature's; what a plan costs and counts, the tiers'.
 */

import type { OrganizationDeps, Organizations } from './deps.ts';
import { organizationRoutes } from './routes.ts';
import { createOrganizationService } from './service.ts';

export function createOrganizations(deps: OrganizationDeps): Organizations {
  const service = createOrganizationService(deps);
  return { ...service, routes: organizationRoutes(service) };
}
