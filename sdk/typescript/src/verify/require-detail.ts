/** Demands that a person has approved an action. */
import type { AuthorizationDetail, VerifiedToken } from './access-token.ts';
import { createRefusal } from './bearer.ts';

/**
 * The first detail of this type that `matches` accepts. Without one, throws a TokenError (403 `insufficient_authorization_details`).
 * Compare each value that counts: `requireDetail(token, 'payment', ({ amount }) => amount === total)`.
 */
export function requireDetail(
  { authorizationDetails }: Pick<VerifiedToken, 'authorizationDetails'>,
  type: string,
  matches: (detail: AuthorizationDetail) => boolean = () => true,
): AuthorizationDetail {
  if (typeof type !== 'string' || type === '') throw new TypeError('requireDetail needs a type of detail');
  const ofType = authorizationDetails.filter((detail) => detail.type === type);
  const found = ofType.find(matches);
  if (found) return found;
  throw createRefusal({ scopes: [] })(
    'insufficient_authorization_details',
    ofType.length === 0
      ? `the token has no authorization_details of the type ${type}`
      : `the authorization_details of the type ${type} are of another action`,
  );
}
