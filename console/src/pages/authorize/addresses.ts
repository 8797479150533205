/** Addresses that the consent page leads to. */

const loopback: readonly string[] = ['localhost', '127.0.0.1', '[::1]', '::1'];

/** Whether a program on the person's own computer gets the answer. */
export const isThisComputer = (host: string): boolean => loopback.includes(host.toLowerCase());

/** Where the browser may go with an answer: https, or a program on this computer. Never `javascript:` and the like. */
export function isClientAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isThisComputer(url.hostname));
}

interface SignInOptions {
  /** Without it: the instance's own provider. */
  readonly connectionId?: string;
  /** The provider offers other accounts than that of its session. */
  readonly switching: boolean;
}

/** The sign-in for a request. */
export function requestSignIn(requestId: string, { connectionId, switching }: SignInOptions): string {
  const query = new URLSearchParams({
    ...(connectionId !== undefined && { connectionId }),
    requestId,
    ...(switching && { prompt: 'select_account' }),
  });
  return `/console/api/oidc/start?${query}`;
}
