/** The claims of a token as the presets of its provider read them. */
import { canonicalName, valuesAt } from '../../../kernel/conditions/claims.ts';
import type { Claims } from '../../../kernel/ports/signer.ts';
import type { Provider } from '../schema.ts';

/** As `valuesAt`; the subject in all its forms. */
export const valuesOf = (claims: Claims, provider: Provider, claim: string): string[] =>
  canonicalName(claim) === 'sub' ? subjectForms(claims, provider) : valuesAt(claims, claim);

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
