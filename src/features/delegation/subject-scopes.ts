/** The scopes that the subject of a chain may hold now, which depend on the audience: our own API, or a registered resource. */

import { delegableScopes } from '../../contract/scopes.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { NoAudienceScopes } from '../resources/audience-scopes.ts';
import { type Chain, delegatedAudiences, delegatedScopes, lastLink } from './chain.ts';
import type { DelegationDeps } from './feature.ts';
import { type ChainSubject, createFindGrant, type FindGrant } from './subjects.ts';

interface SubjectScopes {
  readonly scopes: readonly string[];
  /** Why no token is issued for the audience, with any scope. */
  readonly problem?: string;
}

const problems: Readonly<Record<NoAudienceScopes, string>> = {
  unregistered: 'the audience is no registered API, or the subject has no grant for it',
  deleted: 'the API was deleted',
  ungranted: 'the subject has no grant for this API',
  ownerInactive: 'the organization that owns this API is not active',
};

/** Of our own API. The operator's scope is never delegated. */
export const ownScopes = (subject: ChainSubject | undefined): string[] =>
  delegableScopes.filter((scope) => subject?.allowedScopes.includes(scope));

export function createSubjectScopes(
  deps: Pick<DelegationDeps, 'issuer' | 'findGrant' | 'findPersonGrants' | 'audienceScopesOf'>,
  findGrant: FindGrant = createFindGrant(deps),
) {
  const { issuer, audienceScopesOf } = deps;

  const subjectScopes = async (
    db: Queryable,
    subject: ChainSubject | undefined,
    audience: string,
  ): Promise<SubjectScopes> => {
    if (!subject || audience === issuer) return { scopes: ownScopes(subject) };
    const grant = await findGrant(db, subject, audience);
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
      subject: ChainSubject | undefined,
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
