/** Matches a token against a policy: one check for each requirement of the policy. Every check runs, even after a failure. */
import type { Check } from '../../../contract/conditions.ts';
import { topLevelClaim } from '../../../kernel/conditions/claims.ts';
import { matchesGlob } from '../../../kernel/conditions/glob.ts';
import { check, conditionCheck } from '../../../kernel/conditions/match.ts';
import { audiencesOf } from '../../../kernel/ports/external-tokens.ts';
import type { Claims } from '../../../kernel/ports/signer.ts';
import type { TrustPolicy } from '../schema.ts';
import { subjectForms, valuesOf } from './claims.ts';

/** RFC 7523 §3: the audience of an assertion for us may be the issuer, or the token endpoint. */
export const ownAudiences = (issuer: string): readonly string[] => [issuer, `${issuer}/api/v1/token`];

/** Of a token for the token endpoint, the issuer too: policies name the issuer. */
export function audiencesNamed(claims: Claims, ownIssuer: string): readonly string[] {
  const named = audiencesOf(claims);
  return named.some((audience) => ownAudiences(ownIssuer).includes(audience))
    ? [...new Set([...named, ownIssuer])]
    : named;
}

/** Checks the claims only; the signature is verified elsewhere. */
export function checksOf(policy: TrustPolicy, claims: Claims, now: number, ownIssuer: string): Check[] {
  return [
    check('status', policy.status === 'active', 'active', [policy.status]),
    issuerCheck(policy, claims),
    audienceCheck(policy, claims, ownIssuer),
    subjectCheck(policy, claims),
    ...policy.conditions.map((condition) =>
      conditionCheck(condition, claims, (_, claim) => valuesOf(claims, policy.provider, claim)),
    ),
    ageCheck(policy, claims, now),
    actorCheck(policy, claims),
  ];
}

/** A JWT-SVID may leave its issuer out: the trust domain in the subject says it. */
function issuerCheck({ issuer, provider }: TrustPolicy, { iss }: Claims): Check {
  const ok = iss === issuer || (iss === undefined && provider === 'spiffe');
  return check('issuer', ok, issuer, [String(iss ?? '')]);
}

function audienceCheck({ audiences }: TrustPolicy, claims: Claims, ownIssuer: string): Check {
  const actual = audiencesOf(claims);
  const ok = audiencesNamed(claims, ownIssuer).some((audience) => audiences.includes(audience));
  return check('audience', ok, audiences.join(' or '), actual);
}

function subjectCheck({ subject, provider }: TrustPolicy, claims: Claims): Check {
  const forms = subjectForms(claims, provider);
  const ok = subject === null || forms.some((form) => matchesGlob(subject, form));
  return check('subject', ok, subject ?? 'any', forms.slice(0, 1));
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
