/** Addresses of the consent page and of clients. */

const page = /^\/console\/authorize\/([^/]+)\/?$/;

/** The id of the authorization request whose page this is. */
export const requestIdOf = (pathname: string): string | undefined => {
  const encoded = page.exec(pathname)?.[1];
  try {
    return encoded && decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};

const loopback: readonly string[] = ['localhost', '127.0.0.1', '[::1]', '::1'];

/** Whether a program on the person's own computer gets the answer. */
export const isThisComputer = (host: string): boolean => loopback.includes(host.toLowerCase());

/** Where the browser may go with an answer: https, or a program on this computer. Never `javascript:` and the like. */
export function isClientAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isThisComputer(url.hostname));
}

/** The sign-in for a request; without a connection through the instance's own provider. */
export const requestSignIn = (requestId: string, connectionId?: string): string =>
  `/console/api/oidc/start?${new URLSearchParams({ ...(connectionId !== undefined && { connectionId }), requestId })}`;
