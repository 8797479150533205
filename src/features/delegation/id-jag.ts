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
import { countActors, maxActors } from '../../kernel/ports/external-tokens.ts';
import type { GrantRequest, OtherToken } from '../tokens/grant.ts';
import type { VerifiedToken } from '../tokens/verify-token.ts';
import { lastLink, statusOf } from './chain.ts';
import type { DelegationDeps } from './feature.ts';
import { findChain, lockTree } from './store.ts';

export const idJagType = 'urn:ietf:params:oauth:token-type:id-jag';

const typ = 'oauth-id-jag+jwt';
const lifetimeSeconds = 300;

type SubjectRequest = Pick<GrantRequest, 'form' | 'keyThumbprint'> & {
  readonly client: Pick<GrantRequest['client'], 'agentId'>;
};

type IdJagRequest = Pick<GrantRequest, 'client' | 'form' | 'audience' | 'keyThumbprint'> & {
  readonly origin: Origin;
};

interface IdJags {
  /** Before the transaction, because the status of a token is read with other connections. Refuses by a TokenError. */
  verifySubject(request: SubjectRequest): Promise<void>;
  /** The agents of the verified subject token. */
  agentsToLock(form: GrantRequest['form']): readonly string[];
  issue(tx: Tx, request: IdJagRequest): Promise<OtherToken>;
}

interface PersonsToken extends VerifiedToken {
  readonly delegation: NonNullable<VerifiedToken['delegation']>;
}

export function createIdJags(deps: DelegationDeps): IdJags {
  const { clock, ids, metrics, signer, issuer, lockAgents, verifyAccessToken, findPartner } = deps;

  const requirePartner = async (tx: Tx, audience: string | undefined): Promise<string> => {
    if (!audience)
      return failToken('invalid_request', 'audience is required: the issuer of the other server');
    const partner = audience === issuer ? undefined : await findPartner(tx, audience);
    return partner?.idJag
      ? partner.issuer
      : failToken('invalid_target', 'the audience is no partner for which identity assertions are issued');
  };

  const subjects = new WeakMap<GrantRequest['form'], PersonsToken>();

  const verifySubject: IdJags['verifySubject'] = async ({ form, client, keyThumbprint }) => {
    const verified = await verifyAccessToken(form.subject_token ?? '');
    subjects.set(form, requirePersonsToken(verified, client.agentId, keyThumbprint));
  };

  /** Agents first, then the tree: nothing that ends the chain comes between this and the assertion. */
  const lockSubject = async (tx: Tx, { delegation: { actorIds, chainIds } }: PersonsToken) => {
    const agents = await lockAgents(tx, actorIds);
    await lockTree(tx, chainIds[0] ?? '', 'shared');
    const chain = await findChain(tx, chainIds.at(-1) ?? '');
    if (!chain || statusOf(lastLink(chain), clock.now()) !== 'active')
      failToken('invalid_grant', 'the delegation of subject_token has ended');
    return agents;
  };

  const issue: IdJags['issue'] = async (tx, { client, form, audience: resource, keyThumbprint, origin }) => {
    const partner = await requirePartner(tx, form.audience);
    const verified = subjects.get(form) ?? failToken('invalid_grant', invalidSubject);
    const agent = (await lockSubject(tx, verified)).get(client.agentId);
    const { claims, scopes } = verified;
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

  return { verifySubject, agentsToLock: (form) => subjects.get(form)?.delegation.actorIds ?? [], issue };
}

const invalidSubject = 'subject_token is no valid access token of ours';

/** TokenError unless it is a valid token of the client itself, by which it acts for a person. */
function requirePersonsToken(
  verified: VerifiedToken | undefined,
  agentId: string,
  keyThumbprint: string | undefined,
): PersonsToken {
  if (!verified || verified.ended) return failToken('invalid_grant', invalidSubject);
  if (verified.claims.client_id !== agentId)
    return failToken('invalid_grant', 'subject_token was issued to another client');
  const { delegation } = verified;
  if (delegation?.subjectType !== 'person')
    return failToken('invalid_grant', 'the subject of subject_token is no person');
  const { cnf } = verified.claims;
  // Those of the assertion that the token was issued for may be ten besides ours.
  if (countActors(verified.claims) > maxActors)
    return failToken('invalid_request', 'more than ten actors are nested in subject_token');
  if (cnf !== undefined && cnf.jkt !== keyThumbprint)
    return failToken('invalid_grant', 'subject_token is bound to a key: send a DPoP proof by it');
  return { ...verified, delegation };
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
