/**
 * The actors that an identity assertion names (`act`, RFC 8693 §4.1). They are not agents of ours: the token has them below its own actor,
 * each with the issuer that names it, which separates them from our agents.
 */
import type { UnverifiedToken } from '../../kernel/ports/external-tokens.ts';
import { loggedSubject } from '../../kernel/ports/openid-provider.ts';
import type { AssertedActor } from '../tokens/grant.ts';
import type { ClaimProblem } from './claims.ts';

const maxLength = 256;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxLength;

/** At most ten levels: `read` of the external tokens refuses more. Undefined: it names none. */
export const readAssertedActor = ({
  issuer,
  claims,
}: Pick<UnverifiedToken, 'issuer' | 'claims'>): AssertedActor | ClaimProblem | undefined =>
  claims.act === undefined ? undefined : readLevel(claims.act, issuer, 'act');

function readLevel(level: unknown, issuer: string, name: string): AssertedActor | ClaimProblem {
  if (typeof level !== 'object' || level === null || Array.isArray(level))
    return { problem: `${name} is no object` };
  const { iss, sub, sub_profile, act } = level as Readonly<Record<string, unknown>>;
  if (iss !== undefined && !isText(iss)) return malformed(`${name}.iss`);
  if (!isText(sub)) return malformed(`${name}.sub`);
  if (sub_profile !== undefined && !isText(sub_profile)) return malformed(`${name}.sub_profile`);
  const earlier = act === undefined ? undefined : readLevel(act, issuer, `${name}.act`);
  if (earlier && 'problem' in earlier) return earlier;
  return {
    // A subject without an issuer is one of the assertion's issuer. Without this it would look like one of ours.
    iss: iss ?? issuer,
    sub,
    ...(sub_profile !== undefined && { sub_profile }),
    ...(earlier && { act: earlier }),
  };
}

const malformed = (name: string): ClaimProblem => ({
  problem: `${name} must be text of 1 to ${maxLength} characters`,
});

/** For the audit log, the latest first. Subjects that are e-mail addresses are cut. */
export function loggedActors(outermost: AssertedActor | undefined): object[] {
  const logged: object[] = [];
  for (let actor = outermost; actor; actor = actor.act)
    logged.push({ issuer: actor.iss.slice(0, maxLength).toWellFormed(), subject: loggedSubject(actor.sub) });
  return logged;
}
