/** The session cookie: its name and attributes follow from the public address. */

export interface SessionCookie {
  /** Why no session can begin; undefined when the cookie is safe. */
  readonly problem: string | undefined;
  /** Other programs at other ports of the host get the cookie too, and can replace it. */
  readonly isSharedByPorts: boolean;
  /** Whether a header `Cookie` has the cookie, with a valid value or not. */
  isIn(cookies: string): boolean;
  /** The secret of the session in a header `Cookie`. Undefined when there is none, or when several make it ambiguous. */
  read(cookies: string): string | undefined;
  /** The value of `Set-Cookie` that begins a session. */
  set(secret: string): string;
  /** The value of `Set-Cookie` that removes the cookie. */
  readonly cleared: string;
}

/** 256 bits in base64url. */
const secretPattern = /^[\w-]{43}$/;

export function createSessionCookie(baseUrl: string): SessionCookie {
  const { protocol, hostname } = new URL(baseUrl);
  const secure = protocol === 'https:';
  const isSafe = secure || isLoopback(hostname);
  const name = secure ? '__Host-countersign' : 'countersign';
  const attributes = `; Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  const valuesIn = (cookies: string): string[] =>
    cookies.split(';').flatMap((pair) => {
      const [key, value] = pair.trim().split(/=(.*)/s, 2);
      return key === name ? [value ?? ''] : [];
    });
  return {
    problem: isSafe
      ? undefined
      : `Signing in to the console at ${baseUrl} is refused: over plain http the session cookie could be read on the way. Set BASE_URL to an https:// address (TLS may end at a proxy), or use the console on the machine itself at http://localhost.`,
    isSharedByPorts: !secure,
    isIn: (cookies) => valuesIn(cookies).length > 0,
    read(cookies) {
      if (!isSafe) return undefined;
      const values = valuesIn(cookies);
      const [value] = values;
      return values.length === 1 && value !== undefined && secretPattern.test(value) ? value : undefined;
    },
    set: (secret) => `${name}=${secret}${attributes}`,
    cleared: `${name}=${attributes}; Max-Age=0`,
  };
}

/** Names and addresses that do not leave the machine (RFC 6761, RFC 1122). */
const isLoopback = (hostname: string): boolean =>
  /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname);
