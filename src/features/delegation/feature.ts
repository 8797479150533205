/**
 * Delegation (RFC 8693): an agent lends another a part of what it may do, for a while, and can take it back. Owns
 * `delegations`. A delegation token proves a link and is no access token; the delegatee redeems it at the token endpoint, which
 * is the tokens feature's, by the grant described here. Scopes, resources and time only ever narrow on the way down.
 */

import type { DelegationDeps, Delegations } from './deps.ts';
import { createPruneLoop } from './loops.ts';
import { createExchange } from './redeem.ts';
import { delegationRoutes } from './routes.ts';
import { createDelegationService } from './service.ts';
import { findParts } from './store.ts';

export { chainsEndWithAgents } from './ending.ts';
export const createDelegations = (deps: DelegationDeps): Delegations => ({
  routes: delegationRoutes(createDelegationService(deps)),
  loops: [createPruneLoop(deps)],
  grant: createExchange(deps),
  findParts: (chainIds) => findParts(deps.db, chainIds),
});
