/** The OpenID providers through which people sign in: the instance's own, and those of connections. Implemented by adapters/openid-connect.ts. */
import type { Claims } from './signer.ts';

/** Secrets of one sign-in, known to the browser's cookie alone. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  /** For PKCE. */
  readonly codeVerifier: string;
}

export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

export interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Of the verified ID token. */
  readonly claims: Claims;
}

export interface OpenIdProvider {
  readonly issuer: string;
  /** For the button of the sign-in page. */
  readonly name: string;
  /** The provider's page for the browser. The hint says who will probably sign in (`login_hint`). */
  authorizationUrl(secrets: SignInSecrets, loginHint?: string | null): Promise<string>;
  /** Verifies the provider's answer, exchanges the code, and verifies the ID token. `query` is that of the callback. */
  identify(query: URLSearchParams, secrets: SignInSecrets): Promise<ProviderIdentity>;
}

/**
 * `unavailable`: the provider cannot be reached, or answers with nonsense. `refused`: the provider or the person has refused the sign-in.
 * `invalid`: the answer does not belong to this sign-in, or is not a valid one for this client.
 */
export type ProviderReason = 'unavailable' | 'refused' | 'invalid';

export class ProviderProblem extends Error {
  readonly reason: ProviderReason;

  constructor(reason: ProviderReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProviderProblem';
    this.reason = reason;
  }
}
