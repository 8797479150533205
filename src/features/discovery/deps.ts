import type { Signer } from '../../kernel/ports/signer.ts';

export interface DiscoveryDeps {
  readonly issuer: string;
  /** For client assertions. */
  readonly assertionAlgorithms: readonly string[];
  /** All but `client_credentials`. */
  readonly grantTypes: readonly string[];
  readonly signer: Pick<Signer, 'publicKeys'>;
}
