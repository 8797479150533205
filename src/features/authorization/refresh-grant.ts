/**
 * The grant `refresh_token` (RFC 6749 §6) with rotation (RFC 9700 §4.14.2): each is used once, and a used one that appears later ends the
 * chain. A client whose answer was lost may repeat its request for a few seconds, and gets the same successor.
 */

import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { narrowingField, readNarrowing } from '../../kernel/http/input/authorization-details.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { UnbatchedGrant } from '../tokens/grant.ts';
import { errorCodes } from './code-grant.ts';
import type { AuthorizationDeps } from './feature.ts';
import {
  findOwnerOfRefreshToken,
  lockRefreshToken,
  markRefreshTokenUsed,
  type StoredRefreshToken,
} from './grants-store.ts';
import { hideSuccessor, type NewRefreshToken, refreshKeyOf, revealSuccessor } from './refresh-token.ts';

const grantType = 'refresh_token';

/** The same for a token that does not exist, and for one of another client. */
const unknownToken = 'the refresh token is unknown, was used or has ended';

export function createRefreshGrant(
  { db, clock, consents }: AuthorizationDeps,
  newRefreshToken: NewRefreshToken,
): UnbatchedGrant {
  const ownerOf = async (token: string | undefined) =>
    token ? findOwnerOfRefreshToken(db, hashSecret(token)) : undefined;

  const isWithinGrace = ({ usedAt }: StoredRefreshToken): boolean =>
    usedAt === null || clock.now() - Date.parse(usedAt) <= limits.refreshGraceSeconds * 1_000;

  /** The next refresh token, and its rotation. */
  const rotate = (token: string, stored: StoredRefreshToken, keyThumbprint: string | undefined) => {
    if (stored.successor) return { refreshToken: revealSuccessor(stored.successor, token) };
    const { refreshToken, insert } = newRefreshToken({
      ...stored,
      dpopJkt: refreshKeyOf(stored, stored.dpopJkt, keyThumbprint),
    });
    return {
      refreshToken,
      async whenIssued(tx: Tx) {
        const now = new Date(clock.now());
        await markRefreshTokenUsed(tx, hashSecret(token), hideSuccessor(refreshToken, token), now);
        await insert(tx);
      },
    };
  };

  return {
    grantType,
    fields: {
      refresh_token: Type.Optional(
        Type.String({ maxLength: 512, description: 'with grant_type=refresh_token' }),
      ),
      ...narrowingField,
    },
    errorCodes,
    transaction: 'own',
    publicClients: {
      unknown: unknownToken,
      async findAgent({ refresh_token }, clientUri) {
        const owner = await ownerOf(refresh_token);
        return owner?.clientUri === clientUri ? owner.agentId : undefined;
      },
    },

    async agentsToLock({ refresh_token }) {
      const owner = await ownerOf(refresh_token);
      return owner ? consents.agentsToLock(owner.chainId) : [];
    },

    async authorize(tx, { client, form, audience, origin, keyThumbprint }) {
      const { refresh_token: token, scope } = form;
      if (!token) return failToken('invalid_request', 'refresh_token is required');
      // Requests with the same token wait here for the first.
      const stored = await lockRefreshToken(tx, hashSecret(token));
      if (stored?.agentId !== client.agentId) return failToken('invalid_grant', unknownToken);
      const { chainId, resource, scopes, clientUri, dpopJkt } = stored;
      // Before anything that ends the chain: a holder of the token alone cannot do that.
      if (dpopJkt !== null && dpopJkt !== keyThumbprint)
        failToken(
          'invalid_grant',
          'the refresh token is bound to a key: send a DPoP proof by it',
          'refresh token bound to another key',
        );
      if (!isWithinGrace(stored))
        return {
          refusal: new TokenError('invalid_grant', unknownToken, 'the refresh token was used twice'),
          effect: (refusing) =>
            consents.revoke(
              refusing,
              { ...origin, agentId: client.agentId },
              chainId,
              'refresh token used twice',
            ),
        };
      if (audience !== undefined && !equivalentUris(audience).includes(resource))
        failToken('invalid_target', 'resource must be that of the authorization request');
      const authorized = await consents.redeem(tx, chainId, {
        client,
        grantType,
        scope,
        within: scopes,
        audience: resource,
        authorizationDetails: readNarrowing(form),
      });
      if (!authorized) return failToken('invalid_grant', unknownToken, 'the consent was deleted');
      return {
        ...authorized,
        ...(clientUri !== null && { clientUri }),
        ...rotate(token, stored, keyThumbprint),
      };
    },
  };
}
