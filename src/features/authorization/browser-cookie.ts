/**
 * The cookie that binds authorization requests to the browser that began them. It has 256 random bits; a request has their hash. `Lax`:
 * the client and the OpenID provider send the browser here by navigations from other sites.
 */
import { limits } from '../../contract/limits.ts';
import { hashSecret } from '../../kernel/secrets.ts';

interface BrowserCookie {
  /** The value of Set-Cookie. */
  set(secret: string): string;
  /** Undefined when the request has none, or several: another page of this host has then set one. */
  read(cookies: string | undefined): string | undefined;
  /** The hash of the secret in a header `Cookie`. */
  hashIn(cookies: string | undefined): Buffer | undefined;
}

export function createBrowserCookie(baseUrl: string): BrowserCookie {
  const isSecure = new URL(baseUrl).protocol === 'https:';
  // Another host of the same site cannot set a cookie whose name starts with `__Host-`.
  const name = isSecure ? '__Host-countersign-authorize' : 'countersign-authorize';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const read = (cookies = ''): string | undefined => {
    const values = cookies
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1));
    return values.length === 1 && /^[\w-]{43}$/.test(values[0] ?? '') ? values[0] : undefined;
  };
  return {
    set: (secret) => `${name}=${secret}; Max-Age=${limits.authorizationRequestSeconds}; ${attributes}`,
    read,
    hashIn(cookies) {
      const secret = read(cookies);
      return secret === undefined ? undefined : hashSecret(secret);
    },
  };
}
