/** Redirect URIs of OAuth clients: the form that a client may register, and the comparison with the one in a request. */

import { urlProblem } from './url-problem.ts';

export const maxRedirectUriLength = 2_048;

/** A redirect to the person's own computer (RFC 8252 §7.3), with its port apart. */
const loopback = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(:\d{1,5})?(?=[/?]|$)/;

export const isLoopbackRedirect = (uri: string): boolean => loopback.test(uri);

const withoutPort = (uri: string): string => uri.replace(loopback, '$1');

/** The problem with a redirect URI; undefined for a valid one. */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.length > maxRedirectUriLength) return `must have at most ${maxRedirectUriLength} characters`;
  if (!uri.startsWith('https://') && !isLoopbackRedirect(uri))
    return 'must be an absolute https:// URL, or http:// with the host localhost, 127.0.0.1 or [::1]';
  return urlProblem(uri, { allowHttp: true, allowQuery: true });
}

/** By string, except that the port of a loopback redirect is ignored: a native application takes a free one. */
export const matchesRedirectUri = (registered: readonly string[], uri: string): boolean =>
  registered.includes(uri) ||
  (isLoopbackRedirect(uri) &&
    redirectUriProblem(uri) === undefined &&
    registered.some((each) => withoutPort(each) === withoutPort(uri)));
