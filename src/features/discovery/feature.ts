/**
 * Discovery: the metadata documents that OAuth and OpenID libraries read to get and use a token, given only our address.
 * Owns no tables; the documents follow from the issuer's address, the keys and the contract.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { DiscoveryDeps } from './deps.ts';
import { discoveryRoutes } from './routes.ts';

export const createDiscovery = (deps: DiscoveryDeps): { routes: readonly RouteEntry[] } => ({
  routes: discoveryRoutes(deps),
});
