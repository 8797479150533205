/** The registered resources that a trust policy names, and the scopes that it gives of each. */

import { audienceOf } from '../../../kernel/audience.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import type { PolicyResource, TrustPolicy } from '../schema.ts';

export const entryOf = (
  { resources }: Pick<TrustPolicy, 'resources'>,
  identifier: string | undefined,
): PolicyResource | undefined => resources.find((entry) => entry.identifier === identifier);

/** Problems that show without a look-up. */
export function entryProblems(resources: readonly PolicyResource[], issuer: string): FieldProblem[] {
  const seen = new Set<string>();
  return resources.flatMap(({ identifier }, index) => {
    const audience = audienceOf(identifier, issuer);
    const isRepeated = seen.has(identifier);
    seen.add(identifier);
    const field = `resources[${index}].identifier`;
    if (audience === undefined)
      return [{ in: 'body', field, message: 'must be an absolute http(s) URI without a fragment' }];
    if (audience === issuer)
      return [{ in: 'body', field, message: 'must not be our own API, whose scopes belong in scopes' }];
    return isRepeated ? [{ in: 'body', field, message: 'must not be repeated' }] : [];
  });
}

/** VALIDATION_ERROR unless the agent holds all of these; the same for a resource that does not exist. */
export async function requireHeld(
  db: Queryable,
  { agentId, resources }: Pick<TrustPolicy, 'agentId' | 'resources'>,
  findHeldScopes: WorkloadIdentityDeps['findHeldScopes'],
): Promise<void> {
  const problems: FieldProblem[] = [];
  for (const [index, { identifier, scopes }] of resources.entries()) {
    const held = await findHeldScopes(db, agentId, identifier);
    const missing = scopes.filter((scope) => !held.includes(scope));
    if (missing.length > 0) {
      const message = `must be scopes of a grant of the agent, which does not hold ${missing.join(', ')}`;
      problems.push({ in: 'body', field: `resources[${index}].scopes`, message });
    }
  }
  if (problems.length > 0) throw validationError('body', problems);
}
