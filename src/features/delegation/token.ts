/**
 * The delegation token: our word that a link exists, for the delegatee to show at the token endpoint and nowhere else. What
 * the link is worth is looked up when it is shown; of the token itself only the id of the link counts.
 */

import { isUuid } from '../../kernel/ids.ts';
import type { DelegationDeps } from './deps.ts';
import type { Link } from './store.ts';

const typ = 'delegation+jwt';

export function createDelegationTokens({ signer, issuer }: Pick<DelegationDeps, 'signer' | 'issuer'>) {
  return {
    sign: (link: Link): Promise<string> =>
      signer.sign(
        {
          aud: issuer,
          sub: link.subjectId,
          may_act: { sub: link.delegateeId },
          chain_id: link.chainId,
          scope: link.scopes.join(' '),
          organization_id: link.organizationId,
          iat: Math.floor(Date.parse(link.createdAt) / 1000),
          exp: Math.floor(Date.parse(link.expiresAt) / 1000),
          jti: link.chainId,
        },
        typ,
      ),

    async read(
      token: string,
      { expiredToo }: { expiredToo: boolean },
    ): Promise<{ chainId: string } | undefined> {
      const requiredClaims = ['aud', 'sub', 'chain_id', 'iat', 'exp', 'jti'];
      const claims = await signer.verify(token, { typ, requiredClaims, allowExpired: expiredToo });
      const chainId = claims?.chain_id;
      return claims?.aud === issuer && typeof chainId === 'string' && isUuid(chainId)
        ? { chainId }
        : undefined;
    },
  };
}
