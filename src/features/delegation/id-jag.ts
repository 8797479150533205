/**
 * Identity assertions (ID-JAG) for another authorization server: about the person for whom the caller acts, by a token exchange of its own
 * access token (RFC 8693). Only for partners that the operator has marked. The scopes only narrow, and `act` is always there, so that the
 * other server does not take the agent for the person. We never accept our own.
 */

import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { Origin } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import { narrowDetails, readNarrowing } from '../../kernel/http/input/authorization-details.ts';
import type { GrantRequest, OtherToken } from '../tokens/grant.ts';
import type { VerifiedToken } from '../tokens/verify-token.ts';
import type { DelegationDeps } from './feature.ts';

export const idJagType = 'urn:ietf:params:oauth:token-type:id-jag';

const typ = 'oauth-id-jag+jwt';
const lifetimeSeconds = 300;

type IdJagRequest = Pick<GrantRequest, 'client' | 'form' | 'audience' | 'keyThumbprint'> & {
  readonly origin: Origin;
};

export type IssueIdJag = (tx: Tx, request: IdJagRequest) => Promise<OtherToken>;

export function createIssueIdJag(deps: DelegationDeps): IssueIdJag {
  const { clock, ids, metrics, signer, issuer, lockAgents, verifyAccessToken, findPartner } = deps;

  const requirePartner = async (tx: Tx, audience: string | undefined): Promise<string> => {
    if (!audience)
      return failToken('invalid_request', 'audience is required: the issuer of the other server');
    const partner = audience === issuer ? undefined : await findPartner(tx, audience);
    return partner?.idJag
      ? partner.issuer
      : failToken('invalid_target', 'the audience is no partner for which identity assertions are issued');
  };

  return async (tx, { client, form, audience: resource, keyThumbprint, origin }) => {
    const partner = await requirePartner(tx, form.audience);
    const verified = await verifyAccessToken(form.subject_token ?? '');
    const { claims, scopes } = requirePersonsToken(verified, client.agentId, keyThumbprint);
    const [agent] = (await lockAgents(tx, [client.agentId])).values();
    const scope = narrowScopes(form.scope, scopes).join(' ');
    // What was approved in detail stays so at the other server: its scopes alone would say more.
    const details = narrowDetails(detailsOf(claims), readNarrowing(form));
    const now = Math.floor(clock.now() / 1000);
    const tokenId = ids.uuidV7(clock.now());
    const expiresIn = Math.min(lifetimeSeconds, claims.exp - now);
    const assertion = signer.sign(
      {
        sub: claims.sub,
        aud: partner,
        client_id: agent?.clientUri ?? client.agentId,
        jti: tokenId,
        iat: now,
        exp: now + expiresIn,
        scope,
        ...(resource !== undefined && { resource }),
        ...(details && { authorization_details: details }),
        act: claims.act,
        ...(keyThumbprint !== undefined && { cnf: { jkt: keyThumbprint } }),
      },
      typ,
    );
    tx.afterCommit(() => metrics.count('service_oidc_tokens_issued_total', {}));
    const { agentId, organizationId, auditMetadata } = client;
    return {
      entry: {
        actor: { ...origin, agentId },
        type: 'id_token.issued',
        subject: {
          organizationId,
          agentId,
          metadata: {
            ...auditMetadata,
            tokenId,
            tokenType: idJagType,
            audience: partner,
            expiresIn,
            scope,
            ...(resource !== undefined && { resource }),
            ...(details && { authorizationDetails: details }),
            personId: claims.sub,
            chainId: claims.chain_id,
            subjectTokenId: claims.jti,
          },
        },
      },
      response: assertion.then((access_token) => ({
        access_token,
        issued_token_type: idJagType,
        token_type: 'N_A',
        expires_in: expiresIn,
        scope,
      })),
    };
  };
}

/** TokenError unless it is a valid token of the client itself, by which it acts for a person. */
function requirePersonsToken(
  verified: VerifiedToken | undefined,
  agentId: string,
  keyThumbprint: string | undefined,
): VerifiedToken {
  if (!verified || verified.ended)
    return failToken('invalid_grant', 'subject_token is no valid access token of ours');
  if (verified.claims.client_id !== agentId)
    return failToken('invalid_grant', 'subject_token was issued to another client');
  if (verified.delegation?.subjectType !== 'person')
    return failToken('invalid_grant', 'the subject of subject_token is no person');
  const { cnf } = verified.claims;
  if (cnf !== undefined && cnf.jkt !== keyThumbprint)
    return failToken('invalid_grant', 'subject_token is bound to a key: send a DPoP proof by it');
  return verified;
}

/** Of a token of ours; null when it has none. */
const detailsOf = (claims: VerifiedToken['claims']): AuthorizationDetails | null =>
  (claims.authorization_details as AuthorizationDetails | undefined) ?? null;

/** All of the subject token's when the client names none. */
function narrowScopes(requested: string | undefined, held: readonly string[]): readonly string[] {
  const named = [...new Set((requested ?? '').split(' ').filter(Boolean))];
  if (named.some((scope) => !held.includes(scope)))
    failToken('invalid_scope', `subject_token has ${held.join(' ') || 'no scope'}`);
  return named.length > 0 ? named : held;
}
