/** What a token says, as policies ask for it. */
import type { Claims } from '../../../kernel/ports/signer.ts';
import type { Provider } from '../schema.ts';

/**
 * The values of a claim as text; none when it is not there. A claim is named as it stands in the token, or, inside another,
 * by a JSON pointer (RFC 6901) such as `/kubernetes.io/namespace`. Of a list every item counts.
 */
export function valuesOf(claims: Claims, provider: Provider, claim: string): string[] {
  if (nameOf(claim) === 'sub') return subjectForms(claims, provider);
  const value = claimAt(claims, claim);
  return (Array.isArray(value) ? value : [value]).flatMap((item) =>
    ['string', 'number', 'boolean'].includes(typeof item) ? [String(item)] : [],
  );
}

/** The claim as it is in the token, of any type; undefined when it is missing or null. */
export const claimAt = (claims: Claims, claim: string): unknown =>
  pathOf(claim).reduce<unknown>(stepInto, claims) ?? undefined;

/** A claim at the top has two spellings: its name, and a pointer of one step. */
export const nameOf = (claim: string): string => {
  const [name, ...deeper] = pathOf(claim);
  return name === undefined || deeper.length > 0 ? claim : name;
};

/** The claim at the top that it is in. */
export const topOf = (claim: string): string => pathOf(claim)[0] ?? '';

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
 * The subject, and the other ways to write the same. GitHub writes `repo:OWNER/REPO:…` for some repositories and
 * `repo:OWNER@ID/REPO@ID:…` for others; names hold no `@`. A policy that gives names alone means that repository in either
 * form, and one that gives the ids means those ids, which the shorter form's token carries in claims of their own.
 */
export function subjectForms({ sub, ...claims }: Claims, provider: Provider): string[] {
  if (typeof sub !== 'string') return [];
  const [found, owner, ownerId, repository, repositoryId] =
    (provider === 'github' && githubSubject.exec(sub)) || [];
  if (found === undefined) return [sub];
  const rest = sub.slice(found.length);
  if (ownerId !== undefined || repositoryId !== undefined) return [sub, `repo:${owner}/${repository}${rest}`];
  const ids = [claims.repository_owner_id, claims.repository_id].map(String);
  return ids.every((id) => /^\d{1,20}$/.test(id))
    ? [sub, `repo:${owner}@${ids[0]}/${repository}@${ids[1]}${rest}`]
    : [sub];
}
