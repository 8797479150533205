/** From a Bearer token to whom it speaks for: the signature says it was ours, the database that it still holds. */
import { isScope } from '../../contract/scopes.ts';
import type { Identity } from '../../kernel/guard.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { Claims } from '../../kernel/signer.ts';
import type { TokenDeps } from './feature.ts';
import { findStanding } from './store.ts';

const textClaims = ['sub', 'client_id', 'scope', 'organization_id', 'jti'] as const;
const requiredClaims = [...textClaims, 'iat', 'exp'];

/** A signature of ours on anything else is a defect of ours, which must not reach SQL nor pass for a scope. */
const isOurShape = (claims: Claims): claims is Record<(typeof textClaims)[number], string> =>
  textClaims.every((name) => typeof claims[name] === 'string') &&
  isUuid(String(claims.client_id)) &&
  claims.sub === claims.client_id;

export function createIdentify({ db, signer, issuer }: TokenDeps) {
  return async (token: string): Promise<Identity | undefined> => {
    const claims = await signer.verify(token, { typ: 'at+jwt', audience: issuer, requiredClaims });
    if (!claims || !isOurShape(claims)) return undefined;
    const standing = await findStanding(db, claims.client_id);
    if (standing?.agentStatus !== 'active') return undefined;
    return {
      agentId: standing.agentId,
      organizationId: standing.organizationId,
      organizationStatus: standing.organizationStatus,
      // What the agent may no longer hold is gone from its live tokens too.
      scopes: new Set(
        claims.scope
          .split(' ')
          .filter(isScope)
          .filter((scope) => standing.allowedScopes.includes(scope)),
      ),
      tokenId: claims.jti,
    };
  };
}
