/** How the server of a protected resource says which authorization server it trusts (RFC 9728), and what a request lacks (RFC 6750 §3). */
import { covers } from '../addresses.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { plainText } from '../plain-text.ts';
import type { RequestLoop } from '../request-loop.ts';
import { getDocument, textsOf } from './discovery.ts';

export interface Challenge {
  readonly error?: string;
  /** With spaces between the scopes. */
  readonly scope?: string;
  readonly resource_metadata?: string;
}

export interface ProtectedResource {
  /** The identifier, exactly as it is published. */
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
}

const parameter = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** The parameters of `WWW-Authenticate`. With several challenges, the first value of each name counts. */
export function readChallenge({ headers }: Response): Challenge {
  const read: Record<string, string> = {};
  for (const [, name = '', quoted, plain = ''] of (headers.get('www-authenticate') ?? '').matchAll(parameter))
    read[name.toLowerCase()] ??= quoted?.replace(/\\(.)/g, '$1') ?? plain;
  return read;
}

/** The metadata are on the origin of the API, and of an API that covers the address: another server must not choose the token's audience. */
export async function discoverResource(
  url: URL,
  named: string | undefined,
  loop: RequestLoop,
): Promise<ProtectedResource> {
  const invalid = (problem: string, cause?: unknown) =>
    new ConnectionError(
      'invalid_response',
      `the resource metadata of ${url.href} cannot be used: ${problem}`,
      cause,
    );
  if (named !== undefined && (!URL.canParse(named) || new URL(named).origin !== url.origin))
    throw invalid(`they are at ${plainText(named)}, which is another server`);
  const root = `${url.origin}/.well-known/oauth-protected-resource`;
  const path = url.pathname.replace(/\/+$/, '');
  const addresses = named === undefined ? [...new Set([`${root}${path}`, root])] : [named];
  const metadata = await getDocument(addresses, loop).catch((error: unknown) => {
    throw error instanceof ApiError && error.status === 404 ? invalid('there are none', error) : error;
  });
  const { resource } = metadata;
  if (typeof resource !== 'string' || !covers(resource, url))
    throw invalid(`they are of ${plainText(String(resource))}`);
  return {
    resource,
    issuers: textsOf(metadata.authorization_servers),
    scopes: textsOf(metadata.scopes_supported),
  };
}
