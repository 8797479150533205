/** The one rule for an organization that a file names by its slug or its name. */
import type { LiveOrganization } from './file/entries.ts';

/** A slug counts first, also one that the file is about to create. A deleted organization has no name, and its slug stays taken. */
export function organizationNamed(
  text: string,
  organizations: readonly LiveOrganization[],
  fileSlugs: ReadonlySet<string>,
): { readonly found: LiveOrganization | undefined; readonly named: readonly LiveOrganization[] } {
  const named = organizations.filter(({ name, status }) => name === text && status !== 'deleted');
  const bySlug = organizations.find(({ slug }) => slug === text);
  return { found: bySlug ?? (fileSlugs.has(text) ? undefined : named[0]), named };
}
