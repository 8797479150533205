/** What a trust policy must be, beyond its shape, before it is kept. */

import { type FieldProblem, validationError } from '../../../kernel/http/input/validation.ts';
import { urlProblem } from '../../../kernel/ports/external-tokens.ts';
import type { OidcDeps } from '../deps.ts';
import type { Condition, TrustPolicy } from '../schema.ts';
import { isShared, providersOf } from './issuer-hosts.ts';
import { identityProblem } from './presets.ts';

type Described = Pick<TrustPolicy, 'provider' | 'jwksUri' | 'subject' | 'conditions'> & {
  readonly issuer: string | undefined;
};

/** The same, with an issuer for sure; or VALIDATION_ERROR with every problem. */
export function refuseUnsound<P extends Described>(
  policy: P,
  { issuer: ourselves, allowHttp }: Pick<OidcDeps, 'issuer' | 'allowHttp'>,
): P & { issuer: string } {
  const problems: FieldProblem[] = [];
  const complain = (field: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ in: 'body', field, message });
  };
  const { provider, issuer, jwksUri, subject, conditions } = policy;
  if (issuer === undefined)
    complain('issuer', `is required with ${provider}, which has no address of its own`);
  else {
    const malformed = urlProblem(issuer, { allowHttp, allowQuery: false });
    complain('issuer', malformed ?? foreignIssuer(issuer, provider, ourselves));
    if (malformed === undefined && jwksUri !== null && isShared(issuer))
      complain('jwksUri', `must be null: ${issuer} says itself where its keys are`);
  }
  if (jwksUri !== null) complain('jwksUri', urlProblem(jwksUri, { allowHttp, allowQuery: true }));
  for (const [index, condition] of conditions.entries())
    complain(`conditions[${index}].values`, valuesProblem(condition));
  if (problems.length === 0) complain('subject', identityProblem(provider, subject, conditions));
  if (problems.length > 0) throw validationError('body', problems);
  return policy as P & { issuer: string };
}

/** Rules for one provider's tokens must not be got round by calling it something else. */
function foreignIssuer(
  issuer: string,
  provider: TrustPolicy['provider'],
  ourselves: string,
): string | undefined {
  if (new URL(issuer).href === new URL(ourselves).href) return 'is this instance itself';
  const owners = providersOf(issuer) ?? [provider];
  return owners.includes(provider) ? undefined : `belongs to the provider ${owners.join(' or ')}`;
}

function valuesProblem({ operator, values = [] }: Condition): string | undefined {
  switch (operator) {
    case 'exists':
      return values.length === 0 ? undefined : 'must be left out with the operator exists';
    case 'equals':
      return values.length === 1 ? undefined : 'must hold exactly one value with the operator equals';
    default:
      return values.length > 0 ? undefined : `must hold a value with the operator ${operator}`;
  }
}
