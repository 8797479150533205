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

/** How the provider asks the person. */
export interface SignInPrompt {
  /** Who is expected to sign in. */
  readonly loginHint?: string | undefined;
  /** The person signs in again, even with a session at the provider. */
  readonly reauthenticate?: boolean;
  /** The person can choose another account than that of the session at the provider. */
  readonly switchAccount?: boolean;
}

export interface OpenIdProvider {
  readonly issuer: string;
  /** For the button of the sign-in page. */
  readonly name: string;
  /** The provider's page for the browser. */
  authorizationUrl(secrets: SignInSecrets, prompt?: SignInPrompt): Promise<string>;
  /**
   * Verifies the provider's answer, exchanges the code, and verifies the ID token. `query` is that of the callback. With `maxAgeSeconds` the ID
   * token must show that the person signed in at most so long ago.
   */
  identify(query: URLSearchParams, secrets: SignInSecrets, maxAgeSeconds?: number): Promise<ProviderIdentity>;
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

/**
 * A subject for the audit log. PostgreSQL stores no NUL and no half of a surrogate pair. Some providers take the e-mail as the subject: the
 * log has no e-mails.
 */
export const loggedSubject = (subject: string): string =>
  subject
    .slice(0, 255)
    .replace(/[^ -~]/g, '?')
    .replace(/@.*$/, '@…');
