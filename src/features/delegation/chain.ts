/** What a chain of delegations is worth. A chain is its links, root first; what is asked about is the last. */
import { delegableScopes, type Scope } from '../../contract/scopes.ts';
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
 * The scopes lent now: those of every link that the subject may hold now. The delegatees' own `allowedScopes` do not count: a
 * delegation lends power that they do not have. The operator's scope is never lent.
 */
export const lentScopes = (
  links: readonly Pick<Link, 'scopes'>[],
  subject: { readonly allowedScopes: readonly string[] } | undefined,
): Scope[] =>
  delegableScopes.filter(
    (scope) => subject?.allowedScopes.includes(scope) && links.every(({ scopes }) => scopes.includes(scope)),
  );

/** The audiences that every link names. A link without a list is for our own API only. */
export const lentAudiences = (links: readonly Pick<Link, 'resource'>[], issuer: string): string[] =>
  links
    .map(({ resource }) => resource ?? [issuer])
    .reduce((left, named) => left.filter((audience) => named.includes(audience)));
