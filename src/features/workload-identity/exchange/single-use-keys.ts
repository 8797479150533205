/** The keys under which a used token is recorded, the same for every copy of the token. */
import { createHash } from 'node:crypto';
import type { UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type { TrustPolicy } from '../schema.ts';

export interface SingleUseKeys {
  readonly byKeySet: Buffer;
  readonly byOrganization: Buffer;
}

/**
 * `byKeySet`: key set, issuer and `jti`, or the signed content of a token without `jti`. It includes the key set, so that a
 * tenant with keys of its own for an issuer cannot use up the ids of the issuer's real tokens.
 * `byOrganization`: the signed content, for any key set, so that a token does not count again under another address of the same
 * keys. A `jti` would not do here: every writer of policies in the organization could use it up.
 */
export function singleUseKeysOf(
  { issuer, claims, fingerprint }: UnverifiedToken,
  { organizationId, issuer: trusted, jwksUri }: Pick<TrustPolicy, 'organizationId' | 'issuer' | 'jwksUri'>,
): SingleUseKeys {
  const { jti } = claims;
  const id = typeof jti === 'string' && jti !== '' ? ['jti', jti] : ['signed', fingerprint];
  return {
    // The issuer of the policy: a JWT-SVID may name none.
    byKeySet: hashOf([trusted, jwksUri, ...id]),
    byOrganization: hashOf(['organization', organizationId, issuer, fingerprint]),
  };
}

const hashOf = (parts: readonly (string | null)[]): Buffer =>
  createHash('sha256').update(JSON.stringify(parts)).digest();
