/** Matches a condition against the claims of a token. */
import type { Check, Condition } from '../../contract/conditions.ts';
import type { Claims } from '../ports/signer.ts';
import { claimAt, valuesAt } from './claims.ts';
import { matchesGlob } from './glob.ts';

const maxLength = 512;
const truncated = (values: readonly string[]): string | null => {
  const text = values.join(', ');
  if (values.length === 0) return null;
  return text.length > maxLength ? `${[...text.slice(0, maxLength)].slice(0, -1).join('')}…` : text;
};

export const check = (name: string, ok: boolean, expected: string, actual: readonly string[]): Check => ({
  name,
  ok,
  expected,
  actual: truncated(actual),
});

/** `valuesOf` gives the values of a claim, for issuers that write the same in several forms. */
export function conditionCheck(
  { claim, operator, values = [] }: Condition,
  claims: Claims,
  valuesOf: (claims: Claims, claim: string) => readonly string[] = valuesAt,
): Check {
  if (operator === 'exists') return existsCheck(claim, claims);
  const actual = valuesOf(claims, claim);
  const matches = {
    equals: () => actual.some((value) => values.includes(value)),
    in: () => actual.some((value) => values.includes(value)),
    glob: () => actual.some((value) => values.some((pattern) => matchesGlob(pattern, value))),
  }[operator];
  return check(`condition ${claim} ${operator}`, matches(), values.join(' or '), actual);
}

/** A claim of any type counts, such as the object `act`. */
function existsCheck(claim: string, claims: Claims): Check {
  const value = claimAt(claims, claim);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return check(
    `condition ${claim} exists`,
    value !== undefined,
    'anything',
    value === undefined ? [] : [text],
  );
}

/**
 * Of a person's ID token. An e-mail of which the provider says that it is not verified counts as missing: people can enter any address.
 * Some providers say nothing about it.
 */
export function personChecks(conditions: readonly Condition[], claims: Claims): Check[] {
  const { email: _, ...others } = claims;
  const trusted = [true, undefined].includes(claims.email_verified as boolean) ? claims : others;
  return conditions.map((condition) => conditionCheck(condition, trusted));
}

export const failedChecks = (checks: readonly Check[]): Check[] => checks.filter(({ ok }) => !ok);

/** Why the values do not fit the operator; undefined when they do. */
export function valuesProblem({ operator, values = [] }: Condition): string | undefined {
  switch (operator) {
    case 'exists':
      return values.length === 0 ? undefined : 'must be left out with the operator exists';
    case 'equals':
      return values.length === 1 ? undefined : 'must hold exactly one value with the operator equals';
    default:
      return values.length > 0 ? undefined : `must hold a value with the operator ${operator}`;
  }
}
