/**
 * Agents: the registry of who exists and whose they are. Owns the `agents` table.
 * Secrets are the credentials feature's, tokens the tokens feature's; plans and limits belong to the tiers.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { RouteEntry } from '../../kernel/route.ts';
import { agentRoutes } from './routes.ts';
import { type AgentService, createAgentService } from './service.ts';

export interface AgentDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly multiTenant: boolean;
  /** Whether agents can be put into that organization: it exists and is not deleted. */
  organizationExists(organizationId: string): Promise<boolean>;
}

export interface Agents extends AgentService {
  readonly routes: readonly RouteEntry[];
}

export function createAgents(deps: AgentDeps): Agents {
  const service = createAgentService(deps);
  return { ...service, routes: agentRoutes(service) };
}
