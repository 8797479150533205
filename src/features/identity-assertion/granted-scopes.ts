/** The scopes of a token: requested, asserted, and lent by the person. */
import { failToken } from '../../kernel/fail.ts';
import { wordsOf } from './claims.ts';

/**
 * TokenError `invalid_scope` for an assertion with scopes that the client did not request, and when nothing is left. Details may say it all;
 * the person must still be able to lend something there.
 */
export function grantedScopes(
  requestedText: string | undefined,
  asserted: readonly string[] | undefined,
  lendable: readonly string[],
  hasDetails: boolean,
): readonly string[] {
  const requested = requestedText ? wordsOf(requestedText) : undefined;
  const exceeding = requested ? (asserted ?? []).filter((scope) => !requested.includes(scope)) : [];
  if (exceeding.length > 0)
    failToken('invalid_scope', `the assertion is for more than the requested scopes: ${exceeding.join(' ')}`);
  const named = asserted ?? requested;
  if (!named && hasDetails && lendable.length > 0) return [];
  const scopes = lendable.filter((scope) => named?.includes(scope) ?? true);
  return scopes.length > 0
    ? scopes
    : failToken('invalid_scope', 'the person may lend none of these scopes of the API');
}
