/** Reads the claims of a token by the paths that policies use. */
import type { Claims } from '../../../kernel/ports/signer.ts';
import type { Provider } from '../schema.ts';

/**
 * The values of a claim as text; empty when the claim is missing. A top-level claim is given by name, a nested one by a JSON
 * pointer (RFC 6901) such as `/kubernetes.io/namespace`. Every item of a list is a value.
 */
export function valuesOf(claims: Claims, provider: Provider, claim: string): string[] {
  if (canonicalName(claim) === 'sub') return subjectForms(claims, provider);
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

const githubSubject = /^repo:([^/:@]+)(?:@(\d+))?\/([^/:@]+)(?:@(\d+))?(?=$|:)/;

/**
 * The subject in all its equivalent forms. GitHub writes `repo:OWNER/REPO:…` for some repositories and
 * `repo:OWNER@ID/REPO@ID:…` for others; names hold no `@`. A policy with names only matches both forms. A policy with ids
 * requires those ids; a token in the shorter form carries them in separate claims.
 */
export function subjectForms({ sub, ...claims }: Claims, provider: Provider): string[] {
  if (typeof sub !== 'string') return [];
  const [matched, owner, ownerId, repository, repositoryId] =
    (provider === 'github' && githubSubject.exec(sub)) || [];
  if (matched === undefined) return [sub];
  const rest = sub.slice(matched.length);
  if (ownerId !== undefined || repositoryId !== undefined) return [sub, `repo:${owner}/${repository}${rest}`];
  const ids = [claims.repository_owner_id, claims.repository_id].map(String);
  return ids.every((id) => /^\d{1,20}$/.test(id))
    ? [sub, `repo:${owner}@${ids[0]}/${repository}@${ids[1]}${rest}`]
    : [sub];
}
