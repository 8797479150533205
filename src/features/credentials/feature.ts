/**
 * Credentials: the client secrets of agents. Owns `credentials` and `credential_uses`, and shows a secret once.
 * The tokens feature reads the hashes to authenticate clients, and reports each use of a credential.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { createUsesLoop } from './loops.ts';
import { credentialRoutes } from './routes.ts';
import { type CredentialService, createCredentialService } from './service.ts';
import { type CredentialUses, createCredentialUses } from './uses.ts';

/** The agent that a credential belongs to. */
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
  /** The agent for a change of its credentials, locked until the transaction ends; refuses as above. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<CredentialAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: the holder of its secret can act as the agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: CredentialAgent): Promise<void>;
  readonly metrics: Metrics;
}

export interface Credentials extends CredentialService, CredentialUses {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}

export function createCredentials(deps: CredentialDeps): Credentials {
  const uses = createCredentialUses(deps);
  const service = createCredentialService(deps, uses);
  deps.metrics.gaugeFromQuery('service_credentials_expiring_soon_total', service.countExpiringSoon);
  return { ...service, ...uses, routes: credentialRoutes(service), loops: [createUsesLoop(uses)] };
}
