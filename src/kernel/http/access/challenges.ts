/** Refusals of the guard that tell a client how to authenticate: by the header `WWW-Authenticate`. */

import type { Scope } from '../../../contract/scopes.ts';
import { fail } from '../../fail.ts';
import { scopeChallenge } from '../../policy.ts';

export interface Challenges {
  /** URL of the protected resource metadata (RFC 9728). */
  readonly metadata: string;
  /** Whether the route also accepts client credentials. */
  readonly basic: boolean;
  /** The scopes that a client asks for, to get a token for the route. */
  readonly scope?: string | undefined;
  /** For a request that presents its token by the scheme DPoP, or must: the algorithms of proofs. */
  readonly dpop?: readonly string[] | undefined;
}

const basicChallenge = 'Basic realm="countersign"';

/** No access token, or one that is not valid. */
export function refuseUnidentified(
  token: string | undefined,
  { metadata, basic, scope, dpop }: Challenges,
  description?: string,
  error = 'invalid_token',
): never {
  const challenge = [
    ...(token === undefined ? [] : [`error="${error}"`]),
    ...(description === undefined ? [] : [`error_description="${headerSafe(description)}"`]),
    ...scopeParameter(scope),
    `resource_metadata="${metadata}"`,
    ...(dpop ? [`algs="${dpop.join(' ')}"`] : []),
    ...(basic ? [basicChallenge] : []),
  ];
  return fail('UNAUTHORIZED', {
    ...(token !== undefined && {
      message: description ?? 'The access token is expired, revoked or not one of ours.',
    }),
    headers: { 'www-authenticate': `${dpop ? 'DPoP' : 'Bearer'} ${challenge.join(', ')}` },
  });
}

/** Client credentials that are not valid. */
export function refuseClientCredentials({ metadata, scope }: Challenges, message: string | undefined): never {
  const bearer = [...scopeParameter(scope), `resource_metadata="${metadata}"`].join(', ');
  return fail('UNAUTHORIZED', {
    ...(message !== undefined && { message }),
    headers: { 'www-authenticate': `${basicChallenge}, Bearer ${bearer}` },
  });
}

/** RFC 6750 §3: a client that begins an authorization knows what to ask for. */
const scopeParameter = (scope: string | undefined): string[] => (scope ? [`scope="${scope}"`] : []);

/** RFC 6750 §3: printable ASCII without quotation marks and backslashes. */
export const headerSafe = (text: string): string => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');

export function requireScope(
  { scopes, tokenId }: { readonly scopes: ReadonlySet<Scope>; readonly tokenId?: string | undefined },
  needed: Scope,
  metadata: string,
): void {
  if (scopes.has(needed)) return;
  const lack = tokenId === undefined ? 'this client may not hold' : 'your token does not carry';
  fail('INSUFFICIENT_SCOPE', {
    message: `This operation needs the scope ${needed}, which ${lack}.`,
    details: { required: needed, held: [...scopes] },
    headers: scopeChallenge(needed, metadata),
  });
}

/** The address that every challenge names (RFC 9728). */
export const resourceMetadataOf = (baseUrl: string): string =>
  `${baseUrl}/.well-known/oauth-protected-resource`;
