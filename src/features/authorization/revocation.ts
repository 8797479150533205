/** Revocation of refresh tokens (RFC 7009): ends the chain. */

import { leastScope } from '../../contract/scopes.ts';
import type { Caller, Origin } from '../../kernel/caller.ts';
import { refuseUnidentified, resourceMetadataOf } from '../../kernel/http/access/challenges.ts';
import { isUuid } from '../../kernel/ids.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { AuthorizationDeps } from './feature.ts';
import { findOwnerOfRefreshToken, isPublicClient, type Owner } from './grants-store.ts';
import { refreshPrefix } from './refresh-token.ts';

interface Revocation {
  readonly token: string;
  /** The authenticated client, or the bearer of an access token. */
  readonly caller: Caller | undefined;
  /** Without a caller: the id that a public client sends. */
  readonly clientId: string | undefined;
  readonly origin: Origin;
}

/** Whether it is a refresh token, known or not. UNAUTHORIZED for a client id that is not a public client's. */
export type RevokeRefreshToken = (revocation: Revocation) => Promise<boolean>;

export const createRevokeRefreshToken =
  ({ db, consents, issuer }: Pick<AuthorizationDeps, 'db' | 'consents' | 'issuer'>): RevokeRefreshToken =>
  async ({ token, caller, clientId = '', origin }) => {
    if (!caller && isUuid(clientId) && !(await isPublicClient(db, clientId)))
      refuseUnidentified(undefined, {
        metadata: resourceMetadataOf(issuer),
        basic: true,
        scope: leastScope,
      });
    if (!token.startsWith(refreshPrefix)) return false;
    const owner = await findOwnerOfRefreshToken(db, hashSecret(token));
    const isOwn = owner && (caller ? owner.agentId === caller.agentId : isNamed(owner, clientId));
    if (isOwn) {
      const actor = caller ?? { ...origin, agentId: owner.agentId };
      await db.transaction((tx) => consents.revoke(tx, actor, owner.chainId, 'refresh token revoked'));
    }
    return true;
  };

const isNamed = ({ publicClient, agentId, clientUri }: Owner, clientId: string): boolean =>
  publicClient && clientId === (clientUri ?? agentId);
