/**
 * Marketplace: agents that organizations offer to others, or within the organization. Owns `listings`, `listing_counts`,
 * `listing_index` and `listing_words`.
 * A listing copies its agent's type, version, capabilities, status and verification from the registry. A ledger listener updates
 * the copy in the transaction of every change of the agent, so a search reads one table and is always current.
 * One read across features: queries look up in `organizations` whether an organization is active.
 */

import type { Marketplace, MarketplaceDeps } from './deps.ts';
import { createAgentListener } from './listener.ts';
import { marketplaceRoutes } from './routes.ts';
import { createMarketplaceService } from './service.ts';
import { findInterfaces } from './store.ts';

export const createMarketplace = (deps: MarketplaceDeps): Marketplace => ({
  routes: marketplaceRoutes(createMarketplaceService(deps)),
  listener: createAgentListener(deps),
  interfacesOf: (agentId) => findInterfaces(deps.db, agentId),
});
