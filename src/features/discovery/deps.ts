import type { Signer } from '../../kernel/ports/signer.ts';

export interface DiscoveryDeps {
  readonly issuer: string;
  /** Those by which clients may sign assertions. */
  readonly assertionAlgorithms: readonly string[];
  /** Those beside `client_credentials`. */
  readonly grantTypes: readonly string[];
  readonly signer: Pick<Signer, 'publicKeys'>;
}
