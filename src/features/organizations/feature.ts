/**
 * Organizations: the tenants, and the roles of agents in them. Owns `organizations` and `memberships`.
 * The agents feature owns agents; the tiers feature owns plan usage and upgrades.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { FindPolicyPower } from '../../kernel/ports/trust-policies.ts';
import { organizationRoutes } from './routes.ts';
import { createOrganizationService, type OrganizationService } from './service.ts';

export interface OrganizationDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly requirePermission: RequirePermission;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<{ agentId: string }>;
  readonly findPolicyPower: FindPolicyPower;
}

export interface Organizations extends OrganizationService {
  readonly routes: readonly RouteEntry[];
}

export function createOrganizations(deps: OrganizationDeps): Organizations {
  const service = createOrganizationService(deps);
  return { ...service, routes: organizationRoutes(service) };
}
