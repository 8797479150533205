/** Token exchange (RFC 8693): the delegatee, once it has proved itself, turns a delegation token into an access token. */
import Type from 'typebox';
import { limits } from '../../contract/limits.ts';
import { failToken } from '../../kernel/fail.ts';
import type { Grant, GrantRequest } from '../../kernel/ports/grant.ts';
import { type Chain, lastOf, lentAudiences, lentScopes, partiesOf, statusOf } from './chain.ts';
import type { DelegationDeps } from './deps.ts';
import { findChain, type Link, lockTree } from './store.ts';
import { createDelegationTokens } from './token.ts';

const urn = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const jwt = urn('jwt');
const accessToken = urn('access_token');

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

const Field = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

export function createExchange(deps: DelegationDeps): Grant {
  const { db, clock, issuer, lockAgents, mint, count } = deps;
  const tokens = createDelegationTokens(deps);

  const requireLive = (link: Link) => {
    const status = statusOf(link, clock.now());
    if (status !== 'active') failToken('invalid_grant', `the delegation is ${status}`);
  };

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

    async parties({ subject_token }) {
      const proven = subject_token ? await tokens.read(subject_token, { expiredToo: true }) : undefined;
      const found = proven && (await findChain(db, proven.chainId));
      return found ? partiesOf(found) : [];
    },

    async redeem(tx, { client, form, audience, origin }) {
      const proven = await tokens.read(subjectTokenOf(form), { expiredToo: true });
      const found = proven && (await findChain(tx, proven.chainId));
      if (!found) return failToken('invalid_grant', 'subject_token is no delegation token of ours');
      if (lastOf(found).delegateeId !== client.agentId)
        return failToken('invalid_grant', 'the delegation is not for this client');
      // Agents first, then the tree: the order of everybody who holds both. Then as things stand now.
      const agents = await lockAgents(tx, partiesOf(found));
      await lockTree(tx, lastOf(found).rootChainId, 'shared');
      const chain = (await findChain(tx, lastOf(found).chainId)) ?? found;
      const link = lastOf(chain);
      requireLive(link);

      const issued = await mint(tx, {
        origin,
        agentId: client.agentId,
        scopes: grantedScopes(form.scope, lentScopes(chain, agents.get(link.subjectId))),
        audience: grantedAudience(form.audience, audience, lentAudiences(chain, issuer), issuer),
        notAfter: Math.floor(Date.parse(link.expiresAt) / 1000),
        delegation: delegationOf(chain),
        metadata: {
          ...client.vouched,
          grantType: tokenExchange,
          chainId: link.chainId,
          subjectId: link.subjectId,
        },
      });
      tx.afterCommit(() => count('token_exchanges', client));
      return { ...issued, issued_token_type: accessToken };
    },
  };
}

function subjectTokenOf(form: GrantRequest['form']): string {
  const refuse = (description: string) => failToken('invalid_request', description);
  if (!form.subject_token) return refuse('subject_token is required');
  if (form.subject_token_type !== jwt) return refuse(`subject_token_type must be ${jwt}`);
  if (form.requested_token_type !== undefined && form.requested_token_type !== accessToken)
    return refuse(`requested_token_type must be ${accessToken}`);
  if (form.actor_token !== undefined || form.actor_token_type !== undefined)
    return refuse('actor_token is not read: the client that authenticates is the actor');
  return form.subject_token;
}

/** All that is left when none is named. */
function grantedScopes(asked: string | undefined, allowed: readonly string[]): readonly string[] {
  const words = (asked ?? '').split(' ').filter(Boolean);
  if (words.some((word) => !allowed.includes(word)) || allowed.length === 0) {
    const left = allowed.join(' ') || 'nothing that its subject may hold now';
    return failToken('invalid_scope', `this delegation gives this client ${left}`);
  }
  return words.length === 0 ? allowed : words;
}

/** Our own API when none is named and it is among those delegated; the only one delegated otherwise. */
function grantedAudience(
  named: string | undefined,
  asked: string | undefined,
  allowed: readonly string[],
  issuer: string,
): string {
  if (named !== undefined && named !== (asked ?? issuer))
    return failToken('invalid_target', 'audience is not read: name the target by resource');
  const fallback = allowed.includes(issuer) || allowed.length > 1 ? issuer : allowed[0];
  const audience = asked ?? fallback;
  return audience !== undefined && allowed.includes(audience)
    ? audience
    : failToken(
        'invalid_target',
        `this delegation is for ${allowed.join(' ') || 'no audience that all its links name'}; name one as resource`,
      );
}

/** Whoever acts now comes first. */
const delegationOf = (chain: Chain) => ({
  subjectId: lastOf(chain).subjectId,
  actorIds: chain.map(({ delegateeId }) => delegateeId).reverse(),
  chainIds: chain.map(({ chainId }) => chainId),
});
