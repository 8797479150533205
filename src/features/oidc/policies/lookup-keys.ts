/** How policies and tokens are found again: by what they have in common, and by what makes two of them the same. */
import { createHash } from 'node:crypto';
import type { UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type { TrustPolicy } from '../schema.ts';
import { subjectForms } from './claims.ts';
import type { Keys, TokenKeys } from './store.ts';

const headLength = 128;

/** By characters, so that none is cut in half. */
const beginning = (text: string, length: number) => [...text.slice(0, 2 * length)].slice(0, length).join('');

const sorted = (texts: readonly string[]) => [...texts].sort();

export function keysOf({ issuer, jwksUri, audiences, subject, conditions }: TrustPolicy): Keys {
  const asked = conditions.map(({ claim, operator, values = [] }) =>
    JSON.stringify([claim, operator, sorted(values)]),
  );
  const whom = JSON.stringify([issuer, jwksUri, sorted(audiences), subject, sorted(asked)]);
  const [head = ''] = (subject ?? '').split('*');
  return {
    subjectHead: beginning(head, headLength),
    letsIn: createHash('sha256').update(whom).digest(),
  };
}

/** Every beginning that a policy for this token's subject can have, the empty one of policies without a subject included. */
export function headsOf({ claims }: UnverifiedToken): string[] {
  const heads = subjectForms(claims, 'github').flatMap((form) => {
    const characters = [...beginning(form, headLength)];
    return Array.from({ length: characters.length + 1 }, (_, length) => characters.slice(0, length).join(''));
  });
  return [...new Set(['', ...heads])];
}

/**
 * What is the same for every copy of a token. By the key set that vouches for it, its id with its issuer, or what was signed
 * where it has none: lest somebody who names keys of their own for an issuer use up the ids of its real tokens. And by the
 * organization what was signed, whoever vouches: lest it count once more by another address of the same keys. There the id
 * will not do: anybody in the organization who may write policies could use it up.
 */
export function tokenKeysOf(
  { issuer, claims, fingerprint }: UnverifiedToken,
  { organizationId, jwksUri }: Pick<TrustPolicy, 'organizationId' | 'jwksUri'>,
): TokenKeys {
  const { jti } = claims;
  const id = typeof jti === 'string' && jti !== '' ? ['jti', jti] : ['signed', fingerprint];
  return {
    byKeySet: hashOf([issuer, jwksUri, ...id]),
    byOrganization: hashOf(['organization', organizationId, issuer, fingerprint]),
  };
}

const hashOf = (name: readonly (string | null)[]): Buffer =>
  createHash('sha256').update(JSON.stringify(name)).digest();
