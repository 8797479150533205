/** What a token says, as policies ask for it. */
import type { Claims } from '../../kernel/signer.ts';
import type { Provider } from './schema.ts';

/**
 * The values of a claim as text; none when it is not there. A claim is named as it stands in the token, or, inside another,
 * by a JSON pointer (RFC 6901) such as `/kubernetes.io/namespace`. Of a list every item counts.
 */
export function valuesOf(claims: Claims, provider: Provider, claim: string): string[] {
  if (claim === 'sub') return subjectForms(claims, provider);
  const path = claim.startsWith('/')
    ? claim
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [claim];
  const value = path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && !Array.isArray(at) && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined,
    claims,
  );
  return (Array.isArray(value) ? value : [value]).flatMap((item) =>
    ['string', 'number', 'boolean'].includes(typeof item) ? [String(item)] : [],
  );
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
