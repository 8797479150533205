import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { InvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Agent, PublicJwk } from './schema.ts';
import type { AgentService } from './service.ts';

export interface AgentDeps {
  readonly cache: InvalidatingCache;
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly multiTenant: boolean;
  /** The organization's plan, kept from changing until the transaction ends; undefined when there is no such organization. */
  lockPlan(tx: Tx, organizationId: string): Promise<{ planTier: string; maxAgents: number } | undefined>;
  /** FORBIDDEN unless the caller holds all that the agent holds: for keys and for reactivation. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: Agent): Promise<void>;
  /** Ends every credential of an agent. */
  revokeCredentialsOf(tx: Tx, agentId: string): Promise<void>;
  /** The key as it is kept, with a `kid`; throws with a reason when it cannot be used. */
  readPublicKey(key: PublicJwk): Promise<PublicJwk & { kid: string }>;
}

export interface Agents extends AgentService {
  readonly routes: readonly RouteEntry[];
}
