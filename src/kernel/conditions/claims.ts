/** Reads the claims of a token by the paths that conditions use. */
import type { Claims } from '../ports/signer.ts';

/**
 * The values of a claim as text; empty when the claim is missing. A top-level claim is given by name, a nested one by a JSON
 * pointer (RFC 6901) such as `/kubernetes.io/namespace`. Every item of a list is a value.
 */
export function valuesAt(claims: Claims, claim: string): string[] {
  const value = claimAt(claims, claim);
  return (Array.isArray(value) ? value : [value]).flatMap((item) =>
    ['string', 'number', 'boolean'].includes(typeof item) ? [String(item)] : [],
  );
}

/** The claim, of any type; undefined when it is missing or null. */
export const claimAt = (claims: Claims, claim: string): unknown =>
  pathOf(claim).reduce<unknown>(stepInto, claims) ?? undefined;

/** A top-level claim has two spellings: its name, and a pointer with one segment. */
export const canonicalName = (claim: string): string => {
  const [name, ...deeper] = pathOf(claim);
  return name === undefined || deeper.length > 0 ? claim : name;
};

/** The top-level claim that contains it. */
export const topLevelClaim = (claim: string): string => pathOf(claim)[0] ?? '';

const pathOf = (claim: string): string[] =>
  claim.startsWith('/')
    ? claim
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [claim];

function stepInto(at: unknown, step: string): unknown {
  if (typeof at !== 'object' || at === null) return undefined;
  if (Array.isArray(at)) return /^(0|[1-9]\d{0,5})$/.test(step) ? at[Number(step)] : undefined;
  return Object.hasOwn(at, step) ? (at as Record<string, unknown>)[step] : undefined;
}
