/**
 * Marketplace: agents that organizations offer to others, or within the organization. Owns `listings`, `listing_counts`,
 * `listing_index` and `listing_words`.
 * A listing copies its agent's type, version, capabilities, status and verification from the registry. A ledger listener updates
 * the copy in the transaction of every change of the agent, so a search reads one table and is always current.
 * One read across features: queries look up in `organizations` whether an organization is active.
 */

import type { AgentFacts } from '../../contract/identity.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import { createAgentListener } from './listener.ts';
import { marketplaceRoutes } from './routes.ts';
import { createMarketplaceService } from './service.ts';
import { findInterfaces } from './store.ts';

export interface MarketplaceDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  /** The agent, locked until the transaction ends; AGENT_NOT_FOUND or FORBIDDEN unless the caller may change it. */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<ListedAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: a listing speaks for the agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: ListedAgent): Promise<void>;
  factsOf(agentIds: readonly string[], within: Queryable): Promise<AgentFacts[]>;
  /** Whether the agent's DID document resolves and its badge verifies. */
  isVerified(facts: AgentFacts): Promise<boolean>;
  didOf(agentId: string): string;
  cardUrlOf(agentId: string): string;
}

export interface ListedAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: string;
  readonly allowedScopes: readonly string[];
}

export interface Marketplace {
  readonly routes: readonly RouteEntry[];
  readonly listener: LedgerListener;
  /** The A2A endpoints of the agent's published, public listing. */
  interfacesOf(agentId: string): Promise<readonly string[]>;
}

export const createMarketplace = (deps: MarketplaceDeps): Marketplace => ({
  routes: marketplaceRoutes(createMarketplaceService(deps)),
  listener: createAgentListener(deps),
  interfacesOf: (agentId) => findInterfaces(deps.db, agentId),
});
