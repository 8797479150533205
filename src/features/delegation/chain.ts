/** What a chain of delegations is worth. A chain is its links, root first; what is asked about is the last. */
import type { DelegationChain } from './schema.ts';
import type { Link } from './store.ts';

export type Chain = readonly [...Link[], Link];

export const lastOf = (chain: Chain): Link => chain[chain.length - 1] as Link;

/** Everybody who has a hand in it, the subject first. */
export const partiesOf = (chain: Chain): string[] => [
  ...new Set([lastOf(chain).subjectId, ...chain.map(({ delegateeId }) => delegateeId)]),
];

/** What was revoked stays revoked; time ends the rest. Nothing outlives the link above it. */
export function statusOf({ revokedAt, expiresAt }: Link, now: number): DelegationChain['status'] {
  if (revokedAt !== null) return 'revoked';
  return Date.parse(expiresAt) <= now ? 'expired' : 'active';
}

export const shown = (link: Link, now: number): DelegationChain => ({ ...link, status: statusOf(link, now) });

/**
 * A scope counts only while every agent of the chain, from the subject to whoever acts, may hold it itself: power that an
 * agent was never to have, or has lost, does not pass through it nor reach it.
 */
export const withinCeilings = (
  scopes: readonly string[],
  agents: Iterable<{ readonly allowedScopes: readonly string[] }>,
): string[] => {
  const ceilings = [...agents];
  return scopes.filter((scope) => ceilings.every(({ allowedScopes }) => allowedScopes.includes(scope)));
};

/** No list means any. */
export const withinResources = (asked: readonly string[], allowed: readonly string[] | null): boolean =>
  allowed === null || asked.every((resource) => allowed.includes(resource));
