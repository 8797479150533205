/**
 * Discovery: what a client that knows only our address needs to get and use a token, in the documents that OAuth libraries
 * read. Owns nothing; everything it says follows from the issuer's address, the keys and the contract.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { DiscoveryDeps } from './deps.ts';
import { discoveryRoutes } from './routes.ts';

export const createDiscovery = (deps: DiscoveryDeps): { routes: readonly RouteEntry[] } => ({
  routes: discoveryRoutes(deps),
});
