/**
 * Delegation (RFC 8693): an agent lets another act on its behalf, with some of its scopes, for a limited time, revocably. Owns
 * `delegations`. A delegation token refers to a link and is no access token: the delegatee exchanges it at the token endpoint of
 * the tokens feature, by the grant described here. Scopes, audiences and time only narrow from link to link.
 */

import type { DelegationDeps, Delegations } from './deps.ts';
import { createPurgeLoop } from './loops.ts';
import { delegationRoutes } from './routes.ts';
import { createDelegationService } from './service.ts';
import { findLinkStatuses } from './store.ts';
import { createTokenExchange } from './token-exchange.ts';

export { revokeChainsWithAgent } from './revoke-with-agent.ts';

export function createDelegations(deps: DelegationDeps): Delegations {
  const service = createDelegationService(deps);
  return {
    routes: delegationRoutes(service),
    loops: [createPurgeLoop(deps)],
    grant: createTokenExchange(deps),
    findLinkStatuses: (chainIds) => findLinkStatuses(deps.db, chainIds),
    endOfPolicy: service.endOfPolicy,
    listReceived: service.listReceived,
  };
}
