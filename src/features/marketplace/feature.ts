/**
 * Marketplace: agents that organizations offer to others, or within the organization. Owns `listings`, `listing_counts`,
 * `listing_index` and `listing_words`.
 * A listing copies its agent's type, version, capabilities, status and verification from the registry. A ledger listener updates
 * the copy in the transaction of every change of the agent, so a search reads one table and is always current.
 * One read across features: queries look up in `organizations` whether an organization is active.
 */

import type { AgentFacts } from '../../contract/identity.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { createAgentListener } from './listener.ts';
import { marketplaceRoutes } from './routes.ts';
import { createMarketplaceService } from './service.ts';
import { findInterfaces } from './store.ts';

export interface MarketplaceDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger'> {
  readonly lockAgent: AgentService['lock'];
  readonly refuseImpersonation: OrganizationService['refuseImpersonation'];
  factsOf(agentIds: readonly string[], within: Queryable): Promise<AgentFacts[]>;
  /** Whether the agent's DID document resolves and its badge verifies. */
  isVerified(facts: AgentFacts): Promise<boolean>;
  didOf(agentId: string): string;
  cardUrlOf(agentId: string): string;
}

export const createMarketplace = (deps: MarketplaceDeps) => ({
  routes: marketplaceRoutes(createMarketplaceService(deps)),
  listener: createAgentListener(deps),
  /** The A2A endpoints of the agent's published, public listing. */
  interfacesOf: (agentId: string): Promise<readonly string[]> => findInterfaces(deps.db, agentId),
});

export type Marketplace = ReturnType<typeof createMarketplace>;
