/** Redeems a chain of delegations: decides the contents of an access token for its delegatee. */

import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { failToken } from '../../kernel/fail.ts';
import { narrowDetails } from '../../kernel/http/input/authorization-details.ts';
import type { AuthenticatedClient, AuthorizedToken } from '../tokens/grant.ts';
import { agentsOf, type Chain, delegatedAudiences, delegatedScopes, lastLink, statusOf } from './chain.ts';
import type { DelegationDeps } from './feature.ts';
import { findChain, lockTree } from './store.ts';
import { createSubjectScopes } from './subject-scopes.ts';
import { agentSubject, personSubject } from './subjects.ts';

export interface Redemption {
  readonly client: AuthenticatedClient;
  readonly grantType: string;
  /** The scopes that the client names; undefined: all that the chain gives. */
  readonly scope: string | undefined;
  /** Limits the scopes further; undefined: the chain alone does. */
  readonly within?: readonly string[];
  /** The audience that the client names. */
  readonly audience: string | undefined;
  /** Of those that were approved, the ones that the client wants; undefined: all. */
  readonly authorizationDetails?: AuthorizationDetails | undefined;
}

/** TokenError unless the chain is active and for this client. Waits for locks. */
type Redeem = (tx: Tx, found: Chain, redemption: Redemption) => Promise<AuthorizedToken>;

export function createRedeem(deps: DelegationDeps): Redeem {
  const { clock, issuer, lockAgents, findLenders } = deps;
  const { subjectScopes } = createSubjectScopes(deps);

  return async (
    tx,
    found,
    { client, grantType, scope, within, audience, authorizationDetails: wantedDetails },
  ) => {
    const { delegateeId, rootChainId, chainId, subjectId, subjectType } = lastLink(found);
    if (delegateeId !== client.agentId)
      return failToken('invalid_grant', 'the delegation is not for this client');
    // Agents first, then the tree: the order of every transaction that locks both. The chain is read again under the locks.
    const agents = await lockAgents(tx, agentsOf(found));
    await lockTree(tx, rootChainId, 'shared');
    const chain = (await findChain(tx, chainId)) ?? found;
    const link = lastLink(chain);
    const status = statusOf(link, clock.now());
    if (status !== 'active') failToken('invalid_grant', `the delegation is ${status}`);
    const agent = agents.get(subjectId);
    const person = subjectType === 'person' ? (await findLenders(tx, [subjectId])).get(subjectId) : undefined;
    const subject = person ? personSubject(person) : agent && agentSubject(agent);
    const target = grantedAudience(audience, delegatedAudiences(chain, issuer), issuer);
    const held = await subjectScopes(tx, subject, target);
    if (held.problem !== undefined) failToken('invalid_target', held.problem);
    const links = within ? [...chain, { scopes: [...within] }] : chain;
    const details = narrowDetails(link.authorizationDetails, wantedDetails);
    // Details may say it all; the person must still be able to lend something there.
    const mayBeEmpty = details && !scope && link.scopes.length === 0 && held.scopes.length > 0;
    return {
      ...(mayBeEmpty ? { scopes: [] } : grantedScopes(scope, delegatedScopes(links, held.scopes))),
      ...(details && { authorizationDetails: details }),
      audience: target,
      notAfter: Math.floor(Date.parse(link.expiresAt) / 1000),
      delegation: {
        subjectId,
        ...(person && { subjectType: 'person' }),
        // The current actor comes first.
        actorIds: chain.map((each) => each.delegateeId).reverse(),
        chainIds: chain.map((each) => each.chainId),
      },
      metadata: {
        ...client.auditMetadata,
        grantType,
        chainId,
        subjectId,
        ...(person && { subjectType, personId: subjectId }),
      },
    };
  };
}

/** All delegated scopes when the client names none. */
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

/** When the client names none: our own API if it is delegated, otherwise the only audience that is. */
function grantedAudience(resource: string | undefined, delegated: readonly string[], issuer: string): string {
  const fallback = delegated.includes(issuer) || delegated.length > 1 ? issuer : delegated[0];
  const audience = resource ?? fallback;
  return audience !== undefined && delegated.includes(audience)
    ? audience
    : failToken(
        'invalid_target',
        `this delegation is for ${delegated.join(' ') || 'no audience that all its links name'}; name one as resource`,
      );
}
