/**
 * Discovery: what a client that knows only our address needs to get and use a token, in the documents that OAuth libraries
 * read. Owns nothing; everything it says follows from the issuer's address, the keys and the contract.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import { discoveryRoutes } from './routes.ts';

export interface DiscoveryDeps {
  readonly issuer: string;
  /** Those by which clients may sign assertions. */
  readonly assertionAlgorithms: readonly string[];
  /** Those beside `client_credentials`. */
  readonly grantTypes: readonly string[];
  readonly signer: Pick<Signer, 'publicKeys'>;
}

export const createDiscovery = (deps: DiscoveryDeps): { routes: readonly RouteEntry[] } => ({
  routes: discoveryRoutes(deps),
});
