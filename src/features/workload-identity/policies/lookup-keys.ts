/** Derived columns of trust policies: the subject prefix that a lookup by token uses, and a hash that equal policies share. */
import { createHash } from 'node:crypto';
import type { UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type { TrustPolicy } from '../schema.ts';
import { subjectForms } from './claims.ts';

export interface PolicyKeys {
  /** The literal text before the first `*`, truncated. */
  readonly subjectPrefix: string;
  /** Equal for two policies that admit the same tokens. */
  readonly contentHash: Buffer;
}

const maxPrefixLength = 128;

/** Truncates by characters: no surrogate pair is split. */
const truncate = (text: string, length: number) => [...text.slice(0, 2 * length)].slice(0, length).join('');

const sorted = (texts: readonly string[]) => [...texts].sort();

export function policyKeysOf({ issuer, jwksUri, audiences, subject, conditions }: TrustPolicy): PolicyKeys {
  const normalized = conditions.map(({ claim, operator, values = [] }) =>
    JSON.stringify([claim, operator, sorted(values)]),
  );
  const content = JSON.stringify([issuer, jwksUri, sorted(audiences), subject, sorted(normalized)]);
  const [prefix = ''] = (subject ?? '').split('*');
  return {
    subjectPrefix: truncate(prefix, maxPrefixLength),
    contentHash: createHash('sha256').update(content).digest(),
  };
}

/** Every prefix that a policy for this token's subject can have; the empty prefix is for policies without a subject. */
export function subjectPrefixesOf({ claims }: UnverifiedToken): string[] {
  const prefixes = subjectForms(claims, 'github').flatMap((form) => {
    const characters = [...truncate(form, maxPrefixLength)];
    return Array.from({ length: characters.length + 1 }, (_, length) => characters.slice(0, length).join(''));
  });
  return [...new Set(['', ...prefixes])];
}
