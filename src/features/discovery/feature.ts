/**
 * Discovery: the metadata documents that OAuth and OpenID libraries read to get and use a token, given only our address.
 * Owns no tables; the documents follow from the issuer's address, the keys and the contract.
 */

import type { Signer } from '../../kernel/ports/signer.ts';
import { discoveryRoutes } from './routes.ts';

export interface DiscoveryDeps {
  readonly issuer: string;
  /** For client assertions. */
  readonly assertionAlgorithms: readonly string[];
  /** For proofs of possession. */
  readonly proofAlgorithms: readonly string[];
  /** All but `client_credentials`. */
  readonly grantTypes: readonly string[];
  readonly signer: Pick<Signer, 'publicKeys'>;
}

export const createDiscovery = (deps: DiscoveryDeps) => ({
  routes: discoveryRoutes(deps),
});
