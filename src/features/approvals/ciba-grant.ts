/** The grant of CIBA (OpenID CIBA Core §10): an agent polls for the decision, and gets the tokens of the approved delegation once. */

import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { narrowingField, readNarrowing } from '../../kernel/http/input/authorization-details.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { UnbatchedGrant } from '../tokens/grant.ts';
import type { ApprovalDeps } from './feature.ts';
import { lockByAuthReqId, markPolled, markRedeemed, type RedeemableApproval } from './store.ts';

const grantType = 'urn:openid:params:grant-type:ciba';

/** The same for an id that does not exist, one of another agent, and one that was used. */
const unknownId = 'the auth_req_id is unknown or was used';

export function createCibaGrant({ clock, consents, newRefreshToken }: ApprovalDeps): UnbatchedGrant {
  /** The first poll may come at once. */
  const stillPending = ({ approvalId, polledAt, pollSeconds }: RedeemableApproval) => {
    const now = clock.now();
    const isTooSoon = polledAt !== null && now - Date.parse(polledAt) < pollSeconds * 1_000;
    const next = isTooSoon ? pollSeconds + limits.approval.pollSeconds : pollSeconds;
    return {
      refusal: isTooSoon
        ? new TokenError('slow_down', `wait ${next} seconds between two polls`)
        : new TokenError('authorization_pending', 'no decision yet'),
      effect: (tx: Tx) => markPolled(tx, approvalId, new Date(now), next),
    };
  };

  return {
    grantType,
    fields: {
      ...narrowingField,
      auth_req_id: Type.Optional(
        Type.String({ maxLength: 512, description: `with grant_type=${grantType}` }),
      ),
    },
    errorCodes: {
      malformed: 'invalid_request',
      missingClient: 'invalid_client',
      invalidResource: 'invalid_target',
    },
    transaction: 'own',
    /** The client is the only agent of the chain. */
    agentsToLock: async () => [],

    async authorize(tx, { client, form, audience }) {
      const { auth_req_id: authReqId, scope } = form;
      if (!authReqId) return failToken('invalid_request', 'auth_req_id is required');
      const now = new Date(clock.now());
      // Requests with the same id wait here for the first.
      const approval = await lockByAuthReqId(tx, hashSecret(authReqId), now);
      if (approval?.agentId !== client.agentId || approval.redeemedAt !== null)
        return failToken('invalid_grant', unknownId);
      const { approvalId, status, chainId, audience: approved, scopes } = approval;
      if (status === 'pending') return stillPending(approval);
      if (status === 'expired')
        return failToken('expired_token', 'the request has lapsed without a decision');
      if (status === 'denied') return failToken('access_denied', 'the request was denied');
      if (status === 'canceled') return failToken('access_denied', 'the request was canceled');
      if (audience !== undefined && !equivalentUris(audience).includes(approved))
        failToken('invalid_target', 'resource must be that of the request');
      const authorized =
        chainId === null
          ? undefined
          : await consents.redeem(tx, chainId, {
              client,
              grantType,
              scope,
              audience: approved,
              authorizationDetails: readNarrowing(form),
            });
      if (!authorized || chainId === null) return failToken('invalid_grant', 'the access has ended');
      const refresh = newRefreshToken({
        chainId,
        agentId: client.agentId,
        resource: approved,
        scopes,
        // The clients of this grant authenticate.
        dpopJkt: null,
      });
      return {
        ...authorized,
        refreshToken: refresh.refreshToken,
        async whenIssued(issuing) {
          await markRedeemed(issuing, approvalId, now);
          await refresh.insert(issuing);
        },
      };
    },
  };
}
