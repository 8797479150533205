/** Validates a trust policy beyond its schema, before it is stored. */

import { valuesProblem } from '../../../kernel/conditions/match.ts';
import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';
import { urlProblem } from '../../../kernel/url-problem.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import type { TrustPolicy } from '../schema.ts';
import { isShared, providersOf } from './issuer-hosts.ts';
import { entryProblems } from './resource-entries.ts';
import { specificityProblem } from './specificity.ts';

type PolicyInput = Pick<TrustPolicy, 'provider' | 'jwksUri' | 'subject' | 'conditions' | 'resources'> & {
  readonly issuer: string | undefined;
};

/** The same policy, with an issuer; VALIDATION_ERROR with every problem otherwise. */
export function validatePolicy<P extends PolicyInput>(
  policy: P,
  { issuer: ownIssuer, allowHttp }: Pick<WorkloadIdentityDeps, 'issuer' | 'allowHttp'>,
): P & { issuer: string } {
  const problems: FieldProblem[] = [];
  const addProblem = (field: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ in: 'body', field, message });
  };
  const { provider, issuer, jwksUri, subject, conditions, resources } = policy;
  if (issuer === undefined)
    addProblem('issuer', `is required with ${provider}, which has no address of its own`);
  else {
    const malformed = urlProblem(issuer, { allowHttp, allowQuery: false });
    addProblem('issuer', malformed ?? issuerProblem(issuer, provider, ownIssuer));
    if (malformed === undefined && jwksUri !== null && isShared(issuer))
      addProblem('jwksUri', `must be null: ${issuer} says itself where its keys are`);
  }
  if (jwksUri !== null) addProblem('jwksUri', urlProblem(jwksUri, { allowHttp, allowQuery: true }));
  for (const [index, condition] of conditions.entries())
    addProblem(`conditions[${index}].values`, valuesProblem(condition));
  problems.push(...entryProblems(resources, ownIssuer));
  if (problems.length === 0) addProblem('subject', specificityProblem(provider, subject, conditions));
  if (problems.length > 0) throw validationError('body', problems);
  return policy as P & { issuer: string };
}

/** A policy must not avoid one provider's rules by naming another provider. */
function issuerProblem(
  issuer: string,
  provider: TrustPolicy['provider'],
  ownIssuer: string,
): string | undefined {
  if (new URL(issuer).href === new URL(ownIssuer).href) return 'is this instance itself';
  const allowed = providersOf(issuer) ?? [provider];
  return allowed.includes(provider) ? undefined : `belongs to the provider ${allowed.join(' or ')}`;
}
