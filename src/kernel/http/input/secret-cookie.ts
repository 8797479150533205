/** Cookies of ours that have a secret of 256 random bits. Name and attributes follow from the public address. */
import { hashSecret } from '../../secrets.ts';

/** The header `Cookie`. */
export type Cookies = string | undefined;

export interface SecretCookie {
  readonly isSecure: boolean;
  /** Whether a request has the cookie, with a valid value or not. */
  isIn(cookies: Cookies): boolean;
  /** Undefined when a request has none, or several: another page of this host has then set one, and neither is trusted. */
  read(cookies: Cookies): string | undefined;
  hashIn(cookies: Cookies): Buffer | undefined;
  /** The value of `Set-Cookie`. */
  set(secret: string): string;
  /** The value of `Set-Cookie` that removes the cookie. */
  readonly cleared: string;
}

interface CookieOptions {
  readonly name: string;
  /** `Lax` where a navigation from another site must carry it. */
  readonly sameSite: 'Strict' | 'Lax';
  /** Without it, the browser keeps the cookie until it is closed. */
  readonly maxAgeSeconds?: number;
}

/** 256 bits in base64url. */
const secretPattern = /^[\w-]{43}$/;

export function createSecretCookie(
  baseUrl: string,
  { name: plainName, sameSite, maxAgeSeconds }: CookieOptions,
): SecretCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:';
  // Another host of the same site cannot set a cookie whose name starts with `__Host-`. Such a cookie needs the path `/`.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const attributes = `; Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`;
  const lifetime = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
  const valuesIn = (cookies = ''): string[] =>
    cookies.split(';').flatMap((pair) => {
      const [key, value] = pair.trim().split(/=(.*)/s, 2);
      return key === name ? [value ?? ''] : [];
    });
  const read: SecretCookie['read'] = (cookies) => {
    const [value, ...others] = valuesIn(cookies);
    return value !== undefined && others.length === 0 && secretPattern.test(value) ? value : undefined;
  };
  return {
    isSecure,
    isIn: (cookies) => valuesIn(cookies).length > 0,
    read,
    hashIn(cookies) {
      const secret = read(cookies);
      return secret === undefined ? undefined : hashSecret(secret);
    },
    set: (secret) => `${name}=${secret}${lifetime}${attributes}`,
    cleared: `${name}=${attributes}; Max-Age=0`,
  };
}
