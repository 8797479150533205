/** The claims of an identity assertion (ID-JAG), as far as they are read. */
import { audiencesOf, type UnverifiedToken } from '../../kernel/ports/external-tokens.ts';
import type { Claims } from '../../kernel/ports/signer.ts';

export interface AssertedIdentity {
  readonly issuer: string;
  /** The person, as we know the person first: `aud_sub` names our own subject, `sub` the issuer's. */
  readonly subjects: readonly [string, ...string[]];
  readonly clientId: string;
  readonly assertionId: string;
  readonly resource: string | undefined;
  /** Undefined when it names none. */
  readonly scopes: readonly string[] | undefined;
  /** Undefined: the assertion is bound to no key. Null: to something that a DPoP proof does not show. */
  readonly keyThumbprint: string | null | undefined;
  /** JSON. */
  readonly authorizationDetails: string | undefined;
  readonly claims: Claims;
}

export interface ClaimProblem {
  readonly problem: string;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** `problem`: the first claim that is missing or malformed. */
export function readIdentity(
  { issuer, claims }: UnverifiedToken,
  ownIssuer: string,
): AssertedIdentity | ClaimProblem {
  const { sub, aud_sub: ownSubject, client_id: clientId, jti, iat, exp, scope, cnf } = claims;
  const audiences = audiencesOf(claims);
  if (audiences.length !== 1 || audiences[0] !== ownIssuer) return { problem: 'audience_mismatch' };
  for (const [name, value] of Object.entries({ sub, client_id: clientId, jti }))
    if (!isText(value)) return { problem: `${name} is missing or is no text` };
  if (iat === undefined || exp === undefined) return { problem: 'missing_claim' };
  if (ownSubject !== undefined && !isText(ownSubject)) return { problem: 'aud_sub is no text' };
  if (scope !== undefined && typeof scope !== 'string') return { problem: 'scope is no text' };
  const details = claims.authorization_details;
  return {
    issuer,
    subjects: ownSubject === undefined ? [String(sub)] : [String(ownSubject), String(sub)],
    clientId: String(clientId),
    assertionId: String(jti),
    resource: readResource(claims.resource),
    scopes: scope === undefined ? undefined : wordsOf(scope),
    keyThumbprint: cnf === undefined ? undefined : thumbprintIn(cnf),
    authorizationDetails: details === undefined ? undefined : JSON.stringify(details),
    claims,
  };
}

export const wordsOf = (text: string): string[] => [...new Set(text.split(' ').filter(Boolean))];

/** Undefined for none, and for several. */
export function readResource(resource: unknown): string | undefined {
  const [only, ...others] = [resource].flat();
  return typeof only === 'string' && others.length === 0 ? only : undefined;
}

/** RFC 9449 §6.1; other confirmations cannot be met here. */
function thumbprintIn(cnf: unknown): string | null {
  if (typeof cnf !== 'object' || cnf === null || Object.keys(cnf).join() !== 'jkt') return null;
  const { jkt } = cnf as { jkt?: unknown };
  return isText(jkt) ? jkt : null;
}
