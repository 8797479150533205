/**
 * Agents: the registry of agents and the organizations they belong to. Owns `agents`, their public keys included, and
 * `agent_counts`. The credentials feature owns secrets, the tokens feature tokens, the organizations feature plan limits.
 */

import type { Scope } from '../../contract/scopes.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { createEmailIndexLoop } from './email-index-store.ts';
import { agentRoutes } from './routes.ts';
import type { Agent, PublicJwk } from './schema.ts';
import { type AgentService, createAgentService } from './service.ts';

export { invalidateAgents } from './agent-cache.ts';
export { dropGlobalEmailIndex } from './email-index-store.ts';

export interface AgentDeps {
  readonly cache: InvalidatingCache;
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly multiTenant: boolean;
  /** For agents that are created without `allowedScopes`, within what the creator may grant. */
  readonly defaultScopes: readonly Scope[];
  /** The organization's plan, locked until the transaction ends; undefined when the organization does not exist. */
  lockOrganization(
    tx: Tx,
    organizationId: string,
  ): Promise<{ planTier: string; maxAgents: number } | undefined>;
  /** FORBIDDEN unless the caller holds all that the agent holds: for keys and for reactivation. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: Agent): Promise<void>;
  /** FORBIDDEN unless the caller may vouch for fields that the agent's tokens for resources carry. */
  refuseClaimChange(tx: Tx, caller: Caller, agent: Agent, fields: readonly string[]): Promise<void>;
  /** Revokes every credential of an agent. */
  revokeCredentialsOf(tx: Tx, agentId: string): Promise<void>;
  /** The key as stored, with a `kid`; throws with a reason when the key is unusable. */
  readPublicKey(key: PublicJwk): Promise<PublicJwk & { kid: string }>;
}

export interface Agents extends AgentService {
  get(caller: Caller, agentId: string): Promise<Agent>;
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}

export function createAgents(deps: AgentDeps): Agents {
  const service = createAgentService(deps);
  return {
    ...service,
    get: async (caller, agentId) => service.get(caller, agentId),
    routes: agentRoutes(service),
    loops: deps.multiTenant ? [createEmailIndexLoop(deps)] : [],
  };
}
