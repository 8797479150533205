import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { CredentialService } from './service.ts';

export interface CredentialAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly allowedScopes: readonly string[];
}

export interface CredentialDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  /** The agent, if the caller may see it; AGENT_NOT_FOUND otherwise. */
  agentFor(caller: Caller, agentId: string): Promise<CredentialAgent>;
  /** The agent for a change of its credentials: as it stands, kept so until the transaction ends; refuses as above. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<CredentialAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: whoever has its secret is that agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: CredentialAgent): Promise<void>;
  readonly metrics: Metrics;
}

export interface Credentials extends CredentialService {
  readonly routes: readonly RouteEntry[];
}
