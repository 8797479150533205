/** The session cookie. */
import { createSecretCookie, type SecretCookie } from '../../../kernel/http/input/secret-cookie.ts';

export interface SessionCookie extends Pick<SecretCookie, 'isIn' | 'read' | 'set' | 'cleared'> {
  /** Why no session can begin; undefined when the cookie is safe. */
  readonly problem: string | undefined;
  /** Other programs at other ports of the host get the cookie too, and can replace it. */
  readonly isSharedByPorts: boolean;
}

export function createSessionCookie(baseUrl: string): SessionCookie {
  const cookie = createSecretCookie(baseUrl, { name: 'countersign', sameSite: 'Strict' });
  const isSafe = cookie.isSecure || isLoopback(new URL(baseUrl).hostname);
  return {
    ...cookie,
    read: (cookies) => (isSafe ? cookie.read(cookies) : undefined),
    problem: isSafe
      ? undefined
      : `Signing in to the console at ${baseUrl} is refused: over plain http the session cookie could be read on the way. Set BASE_URL to an https:// address (TLS may end at a proxy), or use the console on the machine itself at http://localhost.`,
    isSharedByPorts: !cookie.isSecure,
  };
}

/** Names and addresses that do not leave the machine (RFC 6761, RFC 1122). */
const isLoopback = (hostname: string): boolean =>
  /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname);
