/** Matches a token against a policy: one check for each requirement of the policy. Every check runs, even after a failure. */
import { audiencesOf } from '../../../kernel/ports/external-tokens.ts';
import type { Claims } from '../../../kernel/ports/signer.ts';
import type { Check, Condition, TrustPolicy } from '../schema.ts';
import { claimAt, subjectForms, topLevelClaim, valuesOf } from './claims.ts';
import { matchesGlob } from './glob.ts';

const maxLength = 512;
const truncated = (values: readonly string[]): string | null => {
  const text = values.join(', ');
  if (values.length === 0) return null;
  return text.length > maxLength ? `${[...text.slice(0, maxLength)].slice(0, -1).join('')}…` : text;
};

/** Checks the claims only; the signature is verified elsewhere. */
export function checksOf(policy: TrustPolicy, claims: Claims, now: number): Check[] {
  return [
    check('status', policy.status === 'active', 'active', [policy.status]),
    check('issuer', claims.iss === policy.issuer, policy.issuer, [String(claims.iss ?? '')]),
    audienceCheck(policy, claims),
    subjectCheck(policy, claims),
    ...policy.conditions.map((condition) => conditionCheck(policy, condition, claims)),
    ageCheck(policy, claims, now),
    actorCheck(policy, claims),
  ];
}

export const check = (name: string, ok: boolean, expected: string, actual: readonly string[]): Check => ({
  name,
  ok,
  expected,
  actual: truncated(actual),
});

function audienceCheck({ audiences }: TrustPolicy, claims: Claims): Check {
  const actual = audiencesOf(claims);
  const ok = actual.some((audience) => audiences.includes(audience));
  return check('audience', ok, audiences.join(' or '), actual);
}

function subjectCheck({ subject, provider }: TrustPolicy, claims: Claims): Check {
  const forms = subjectForms(claims, provider);
  const ok = subject === null || forms.some((form) => matchesGlob(subject, form));
  return check('subject', ok, subject ?? 'any', forms.slice(0, 1));
}

function conditionCheck(
  { provider }: TrustPolicy,
  { claim, operator, values = [] }: Condition,
  claims: Claims,
) {
  if (operator === 'exists') return existsCheck(claim, claims);
  const actual = valuesOf(claims, provider, claim);
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

function ageCheck({ maxTokenAgeSeconds }: TrustPolicy, { iat }: Claims, now: number): Check {
  const age = typeof iat === 'number' ? Math.floor(now / 1000 - iat) : undefined;
  const ok = age !== undefined && age <= maxTokenAgeSeconds;
  return check('age', ok, `at most ${maxTokenAgeSeconds} s`, age === undefined ? [] : [`${age} s`]);
}

/** A token with `act` (RFC 8693) is presented by the actor, not by its subject. Only a policy with a condition on `act` admits it. */
function actorCheck({ conditions }: TrustPolicy, { act }: Claims): Check {
  const ok = act === undefined || conditions.some(({ claim }) => topLevelClaim(claim) === 'act');
  const actual = act === undefined ? [] : [JSON.stringify(act)];
  return check('actor', ok, 'a token without act, or a condition on act', actual);
}

export const failedChecks = (checks: readonly Check[]): Check[] => checks.filter(({ ok }) => !ok);
