/**
 * The cookie of a sign-in through the provider. State, nonce and PKCE verifier are derived from its 256 random bits: the database has only a
 * hash of it, and an answer of the provider is of use in the browser that began the sign-in alone.
 */
import { createHmac } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import type { SignInSecrets } from '../../../kernel/ports/openid-provider.ts';

/** Another host of the same site cannot set a cookie whose name starts with `__Host-`. Such a cookie needs the path `/`. */
const cookieName = (isSecure: boolean) => (isSecure ? '__Host-countersign-sign-in' : 'countersign-sign-in');
const pattern = /^[\w-]{43}$/;

const derive = (cookie: string, purpose: string): string =>
  createHmac('sha256', cookie).update(purpose).digest('base64url');

export const secretsOf = (cookie: string): SignInSecrets => ({
  state: derive(cookie, 'state'),
  nonce: derive(cookie, 'nonce'),
  codeVerifier: derive(cookie, 'code verifier'),
});

interface SignInCookie {
  /** The value of Set-Cookie. `Lax`: the provider's redirect to us is a navigation from another site. */
  set(value: string): string;
  clear(): string;
  /** Undefined when the request has none. */
  read(cookies: string | undefined): string | undefined;
}

export function createSignInCookie(baseUrl: string): SignInCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:';
  const name = cookieName(isSecure);
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    set: (value) => `${name}=${value}; Max-Age=${limits.providerSignInSeconds}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
    read(cookies = '') {
      const values = cookies
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      // Two of them: another page of this host has set one. Neither is trusted.
      return values.length === 1 && pattern.test(values[0] ?? '') ? values[0] : undefined;
    },
  };
}
