/**
 * The delegation token: a signed reference to a link, which the delegatee exchanges at the token endpoint. Only the link's id is
 * read from it; the link itself is looked up.
 */

import { isUuid } from '../../kernel/ids.ts';
import type { Link } from './chain.ts';
import type { DelegationDeps } from './feature.ts';

const typ = 'delegation+jwt';
const requiredClaims = ['aud', 'sub', 'chain_id', 'iat', 'exp', 'jti'];

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

    /** Expired tokens too: the link says whether it has expired. Undefined for other tokens. */
    async read(token: string): Promise<{ chainId: string } | undefined> {
      const claims = await signer.verify(token, { typ, requiredClaims, allowExpired: true });
      const chainId = claims?.chain_id;
      return claims?.aud === issuer && typeof chainId === 'string' && isUuid(chainId)
        ? { chainId }
        : undefined;
    },
  };
}
