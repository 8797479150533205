import type { Page } from './page.ts';
import { navigationGroups } from './page.ts';

type Entry = Pick<Page, 'navigation'>;

export interface NavigationGroup<P extends Entry> {
  /** Null at the top. */
  readonly name: string | null;
  readonly entries: readonly P[];
}

/** The pages as the navigation shows them. A page that would be alone in its group stands at the top: a heading over one link says nothing. */
export function groupPages<P extends Entry>(pages: readonly P[]): readonly NavigationGroup<P>[] {
  const groups = navigationGroups.map((name) => ({
    name,
    entries: pages
      .filter(({ navigation }) => navigation?.group === name)
      .sort((a, b) => (a.navigation?.order ?? 0) - (b.navigation?.order ?? 0)),
  }));
  const [top, ...named] = groups;
  const alone = named.filter(({ entries }) => entries.length === 1);
  return [
    { name: null, entries: [top, ...alone].flatMap((group) => group?.entries ?? []) },
    ...named.filter(({ entries }) => entries.length > 1),
  ].filter(({ entries }) => entries.length > 0);
}
