/** The target of a new delegation: its audiences, and the scopes that its subject may hold there now. */

import { isScope, scopes as knownScopes } from '../../contract/scopes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import type { AgentGrant } from '../resources/audience-scopes.ts';
import type { DelegationDeps } from './feature.ts';
import type { NewDelegation } from './schema.ts';
import { ownScopes } from './subject-scopes.ts';
import { type ChainSubject, createFindGrant } from './subjects.ts';

export interface DelegationTarget {
  readonly resource: string[] | null;
  /** The identifier of a registered resource; undefined for our own API and for other audiences, which take its scopes. */
  readonly registered?: string;
  readonly heldBySubject: readonly string[];
}

const refuse = (...problems: Omit<FieldProblem, 'in'>[]): never => {
  throw validationError(
    'body',
    problems.map((problem) => ({ in: 'body', ...problem })),
  );
};

/** VALIDATION_ERROR for malformed audiences, and for scopes that our own API lacks when no other audience is named. */
export function validateTarget({ resource, scopes, parentToken }: NewDelegation, issuer: string): void {
  const audiences = readAudiences(resource, issuer);
  if (parentToken === undefined && (audiences ?? []).every((audience) => audience === issuer))
    refuseUnknownScopes(scopes);
}

export function readAudiences(resource: NewDelegation['resource'], issuer: string): string[] | null {
  if (!resource) return null;
  const audiences = resource.map((each) => audienceOf(each, issuer));
  const malformed = audiences.flatMap((audience, index) => (audience === undefined ? [index] : []));
  if (malformed.length > 0) {
    const message = 'must be an absolute http(s) URI without a fragment';
    refuse(...malformed.map((index) => ({ field: `resource[${index}]`, message })));
  }
  return [...new Set(audiences as string[])];
}

export function createDelegationTargets(
  deps: Pick<
    DelegationDeps,
    'issuer' | 'findGrant' | 'findPersonGrants' | 'grantedScopes' | 'unregisteredResources'
  >,
) {
  const { issuer, grantedScopes, unregisteredResources } = deps;
  const findGrant = createFindGrant(deps);

  /**
   * With `refuse`, another organization's resource answers as one that does not exist, unless the subject has a grant. With `allow`,
   * the answer shows that an identifier is registered, because audiences that are not registered are accepted.
   */
  const isHidden = (grant: AgentGrant | undefined, { organizationId }: ChainSubject): boolean =>
    unregisteredResources === 'refuse' &&
    (!grant || (grant.resource.organizationId !== organizationId && Object.keys(grant.scopes).length === 0));

  return async (
    db: Queryable,
    subject: ChainSubject,
    resource: string[] | null,
    scopes: readonly string[],
  ): Promise<DelegationTarget> => {
    const others = (resource ?? []).filter((audience) => audience !== issuer);
    const grants: (AgentGrant | undefined)[] = [];
    for (const audience of others) grants.push(await findGrant(db, subject, audience));
    if (grants.some((grant) => isHidden(grant, subject)))
      refuse({ field: 'resource', message: 'must be a registered API that you have a grant for' });
    const registered = grants.find((grant) => grant !== undefined);
    if (!registered) {
      refuseUnknownScopes(scopes);
      return { resource, heldBySubject: ownScopes(subject) };
    }
    if (resource?.length !== 1)
      refuse({
        field: 'resource',
        message: 'must name a registered API alone, without other audiences',
      });
    const { identifier } = registered.resource;
    return { resource, registered: identifier, heldBySubject: grantedScopes(registered) };
  };
}

function refuseUnknownScopes(scopes: readonly string[]): void {
  const unknown = scopes.flatMap((scope, index) => (isScope(scope) ? [] : [index]));
  if (unknown.length === 0) return;
  const message = `must be one of ${knownScopes.join(', ')}`;
  refuse(...unknown.slice(0, 20).map((index) => ({ field: `scopes[${index}]`, message })));
}
