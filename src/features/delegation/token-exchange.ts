/** The grant token exchange (RFC 8693): the delegatee exchanges a delegation token for an access token. */

import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { failToken } from '../../kernel/fail.ts';
import type { AuthorizedToken, Grant, GrantRequest } from '../tokens/grant.ts';
import { agentsOf, delegatedAudiences, delegatedScopes, lastLink, statusOf } from './chain.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { DelegationDeps } from './feature.ts';
import { findChain, lockTree } from './store.ts';
import { createSubjectScopes } from './subject-scopes.ts';

const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const jwt = tokenType('jwt');
const accessToken = tokenType('access_token');

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

const Field = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

export function createTokenExchange(deps: DelegationDeps): Grant {
  const { db, clock, issuer, lockAgents, count } = deps;
  const tokens = createDelegationTokens(deps);
  const { subjectScopes } = createSubjectScopes(deps);

  return {
    grantType: tokenExchange,
    fields: {
      subject_token: Field(limits.delegation.maxTokenLength),
      subject_token_type: Field(128),
      requested_token_type: Field(128),
      audience: Field(1024),
      actor_token: Field(limits.delegation.maxTokenLength),
      actor_token_type: Field(128),
    },
    errorCodes: {
      malformed: 'invalid_request',
      missingClient: 'invalid_client',
      invalidResource: 'invalid_target',
    },
    issuedTokenType: accessToken,
    transaction: 'own',

    async agentsToLock({ subject_token }) {
      const read = subject_token ? await tokens.read(subject_token) : undefined;
      const chain = read && (await findChain(db, read.chainId));
      return chain ? agentsOf(chain) : [];
    },

    async authorize(tx, { client, form, audience }) {
      const read = await tokens.read(readSubjectToken(form));
      const found = read && (await findChain(tx, read.chainId));
      if (!found) return failToken('invalid_grant', 'subject_token is no delegation token of ours');
      const { delegateeId, rootChainId, chainId } = lastLink(found);
      if (delegateeId !== client.agentId)
        return failToken('invalid_grant', 'the delegation is not for this client');
      // Agents first, then the tree: the order of every transaction that locks both. The chain is read again under the locks.
      const agents = await lockAgents(tx, agentsOf(found));
      await lockTree(tx, rootChainId, 'shared');
      const chain = (await findChain(tx, chainId)) ?? found;
      const link = lastLink(chain);
      const status = statusOf(link, clock.now());
      if (status !== 'active') failToken('invalid_grant', `the delegation is ${status}`);
      const { subjectId } = link;
      const target = grantedAudience(form.audience, audience, delegatedAudiences(chain, issuer), issuer);
      const held = await subjectScopes(tx, agents.get(subjectId), target);
      if (held.problem !== undefined) failToken('invalid_target', held.problem);
      return {
        ...grantedScopes(form.scope, delegatedScopes(chain, held.scopes)),
        audience: target,
        notAfter: Math.floor(Date.parse(link.expiresAt) / 1000),
        delegation: {
          subjectId,
          // The current actor comes first.
          actorIds: chain.map((each) => each.delegateeId).reverse(),
          chainIds: chain.map((each) => each.chainId),
        },
        metadata: { ...client.auditMetadata, grantType: tokenExchange, chainId, subjectId },
      };
    },

    onIssued: (client) => count('token_exchanges', client),
  };
}

function readSubjectToken(form: GrantRequest['form']): string {
  const refuse = (description: string) => failToken('invalid_request', description);
  if (!form.subject_token) return refuse('subject_token is required');
  if (form.subject_token_type !== jwt) return refuse(`subject_token_type must be ${jwt}`);
  if (form.requested_token_type !== undefined && form.requested_token_type !== accessToken)
    return refuse(`requested_token_type must be ${accessToken}`);
  if (form.actor_token !== undefined || form.actor_token_type !== undefined)
    return refuse('actor_token is not read: the client that authenticates is the actor');
  return form.subject_token;
}

/** All delegated scopes when the form names none. */
function grantedScopes(
  requested: string | undefined,
  delegated: readonly string[],
): Pick<AuthorizedToken, 'scopes' | 'exact'> {
  const words = (requested ?? '').split(' ').filter(Boolean);
  if (words.some((word) => !delegated.includes(word)) || delegated.length === 0) {
    const left = delegated.join(' ') || 'nothing that its subject may hold now';
    return failToken('invalid_scope', `this delegation gives this client ${left}`);
  }
  return words.length === 0 ? { scopes: delegated } : { scopes: words, exact: true };
}

/** Without a `resource`: our own API if it is delegated, otherwise the only audience that is. */
function grantedAudience(
  audienceField: string | undefined,
  resource: string | undefined,
  delegated: readonly string[],
  issuer: string,
): string {
  if (audienceField !== undefined && audienceField !== (resource ?? issuer))
    return failToken('invalid_target', 'audience is not read: name the target by resource');
  const fallback = delegated.includes(issuer) || delegated.length > 1 ? issuer : delegated[0];
  const audience = resource ?? fallback;
  return audience !== undefined && delegated.includes(audience)
    ? audience
    : failToken(
        'invalid_target',
        `this delegation is for ${delegated.join(' ') || 'no audience that all its links name'}; name one as resource`,
      );
}
