/**
 * Marketplace: agents that their organizations offer to others, or to their own people. Owns `listings`, `listing_counts`,
 * `listing_index` and `listing_words`.
 * What a listing says of its agent (type, version, capabilities, whether it is active and verified) is the registry's: it is
 * copied in the transaction of every change of the agent, by way of the ledger, so a search reads one table and is never wrong.
 * A read model beside that: whether an organization is active is looked up in `organizations`.
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
