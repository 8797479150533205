/** The scopes that the subject of a chain may hold now, which depend on the audience: our own API, or a registered resource. */

import { delegableScopes } from '../../contract/scopes.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { NoAudienceScopes } from '../resources/audience-scopes.ts';
import { type Chain, delegatedAudiences, delegatedScopes, lastLink } from './chain.ts';
import type { ChainAgent, DelegationDeps } from './feature.ts';

interface SubjectScopes {
  readonly scopes: readonly string[];
  /** Why no token is issued for the audience, with any scope. */
  readonly problem?: string;
}

const problems: Readonly<Record<NoAudienceScopes, string>> = {
  unregistered: 'the audience is no registered resource, or the subject has no grant for it',
  deleted: 'the resource was deleted',
  ungranted: 'the subject has no grant for this resource',
  ownerInactive: 'the organization that owns this resource is not active',
};

/** Of our own API. The operator's scope is never delegated. */
export const ownScopes = (subject: ChainAgent | undefined): string[] =>
  delegableScopes.filter((scope) => subject?.allowedScopes.includes(scope));

export function createSubjectScopes({
  issuer,
  findGrant,
  audienceScopesOf,
}: Pick<DelegationDeps, 'issuer' | 'findGrant' | 'audienceScopesOf'>) {
  const subjectScopes = async (
    db: Queryable,
    subject: ChainAgent | undefined,
    audience: string,
  ): Promise<SubjectScopes> => {
    if (!subject || audience === issuer) return { scopes: ownScopes(subject) };
    const grant = await findGrant(db, subject.agentId, audience);
    const found = audienceScopesOf(grant, subject.organizationId);
    if (found.kind === 'own') return { scopes: ownScopes(subject) };
    return found.kind === 'granted'
      ? { scopes: found.scopes }
      : { scopes: [], problem: problems[found.kind] };
  };

  return {
    subjectScopes,

    /** The scopes that a token of the chain can carry now, for any of these audiences; by default those of the chain. */
    async effectiveScopes(
      db: Queryable,
      chain: Chain,
      subject: ChainAgent | undefined,
      audiences: readonly string[] = delegatedAudiences(chain, issuer),
    ): Promise<string[]> {
      const held = new Set<string>();
      for (const audience of audiences)
        for (const scope of (await subjectScopes(db, subject, audience)).scopes) held.add(scope);
      return delegatedScopes(
        chain,
        lastLink(chain).scopes.filter((scope) => held.has(scope)),
      );
    },
  };
}

/** Reads the grants that the chains depend on by one query, however many chains there are. */
export async function prefetchGrants(
  { db, issuer, findGrants }: Pick<DelegationDeps, 'db' | 'issuer' | 'findGrants'>,
  chains: readonly Chain[],
): Promise<DelegationDeps['findGrant']> {
  const queries = chains.flatMap((chain) =>
    delegatedAudiences(chain, issuer)
      .filter((audience) => audience !== issuer)
      .map((identifier) => ({ agentId: lastLink(chain).subjectId, identifier })),
  );
  const grants = await findGrants(db, queries);
  const keyOf = (agentId: string, identifier: string) => `${agentId} ${identifier}`;
  const byKey = new Map(
    queries.map(({ agentId, identifier }, index) => [keyOf(agentId, identifier), grants[index]]),
  );
  return async (_db, agentId, identifier) => byKey.get(keyOf(agentId, identifier));
}
