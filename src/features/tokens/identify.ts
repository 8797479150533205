/** From a Bearer token to whom it speaks for: the signature says it was ours, the database that it still holds. */
import { isScope } from '../../contract/scopes.ts';
import type { Identity } from '../../kernel/guard.ts';
import type { TokenDeps } from './feature.ts';
import { findStanding } from './store.ts';

const requiredClaims = ['sub', 'client_id', 'scope', 'organization_id', 'iat', 'exp', 'jti'];

export function createIdentify({ db, signer, issuer }: TokenDeps) {
  return async (token: string): Promise<Identity | undefined> => {
    const claims = await signer.verify(token, { typ: 'at+jwt', audience: issuer, requiredClaims });
    if (!claims) return undefined;
    const standing = await findStanding(db, String(claims.sub));
    if (standing?.agentStatus !== 'active') return undefined;
    return {
      agentId: standing.agentId,
      organizationId: standing.organizationId,
      organizationStatus: standing.organizationStatus,
      scopes: new Set(String(claims.scope).split(' ').filter(isScope)),
      tokenId: String(claims.jti),
    };
  };
}
