/**
 * The cookie of a sign-in through the provider. State, nonce and PKCE verifier are derived from its 256 random bits: the database has only a
 * hash of it, and an answer of the provider is of use in the browser that began the sign-in alone.
 */
import { createHmac } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import { createSecretCookie } from '../../../kernel/http/input/secret-cookie.ts';
import type { SignInSecrets } from '../../../kernel/ports/openid-provider.ts';

const derive = (cookie: string, purpose: string): string =>
  createHmac('sha256', cookie).update(purpose).digest('base64url');

export const secretsOf = (cookie: string): SignInSecrets => ({
  state: derive(cookie, 'state'),
  nonce: derive(cookie, 'nonce'),
  codeVerifier: derive(cookie, 'code verifier'),
});

/** `Lax`: the provider's redirect to us is a navigation from another site. */
export const createSignInCookie = (baseUrl: string) =>
  createSecretCookie(baseUrl, {
    name: 'countersign-sign-in',
    sameSite: 'Lax',
    maxAgeSeconds: limits.providerSignInSeconds,
  });
