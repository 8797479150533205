/** The navigation: docs/README.md lists the pages by track, and the indexes of folders list theirs. */
import { addressOf, type DocsPage, targetOf } from './pages.ts';

export interface Entry {
  readonly page: DocsPage;
  /** Shorter than the title of the page. */
  readonly text: string;
  readonly description: string;
  /** The pages that the page lists. */
  readonly children: readonly Entry[];
}

export interface Track {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** The index of the documentation, and indexes whose pages are not in it. */
const home = 'docs/README.md';
const listing = [
  'docs/decisions/README.md',
  'docs/guides/connections.md',
  'docs/operations/runbooks/README.md',
];

export function readTracks(root: string, pages: readonly DocsPage[]): Track[] {
  const bySource = new Map(pages.map((page) => [page.path, page]));
  const start = pages.find(({ source }) => source === home);
  if (!start) throw new Error(`${home} is missing: it lists the pages`);
  const pageAt = (from: DocsPage, link: string): DocsPage => {
    const target = targetOf(root, from, link);
    const page = target.kind === 'page' ? bySource.get(target.path) : undefined;
    if (!page) throw new Error(`${from.source}: ${link} is no page of the documentation`);
    return page;
  };
  const childrenOf = (page: DocsPage): Entry[] =>
    listing.includes(page.source)
      ? [...page.markdown.matchAll(/^(?:\| *|- )\[([^\]]+)\]\(([\w./-]+\.md)\)(?:.*\| *([^|\n]+?) *\|$)?/gm)]
          .map(([, text = '', link = '', description = '']) => {
            const child = pageAt(page, link);
            return { page: child, text: child.title, description: description || text, children: [] };
          })
          .filter((child) => child.page.path.startsWith(page.path.replace(/index\.md$|\.md$/, '')))
      : [];

  const tracks = start.markdown.split(/^## /m).slice(1);
  const read = tracks.map((track) => ({
    title: track.slice(0, track.indexOf('\n')).trim(),
    entries: [...track.matchAll(/^- \[(.+?)\]\((\S+?)\): (.+)$/gm)].map(
      ([, text = '', link = '', description = '']) => {
        const page = pageAt(start, link);
        return { page, text, description, children: childrenOf(page) };
      },
    ),
  }));
  requireEachOnce(pages, read);
  return read;
}

function requireEachOnce(pages: readonly DocsPage[], tracks: readonly Track[]): void {
  const listed = tracks
    .flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.children]))
    .map(({ page }) => page.source);
  const twice = listed.filter((source, index) => listed.indexOf(source) !== index);
  if (twice.length > 0) throw new Error(`${home} lists ${twice.join(', ')} twice: keep one`);
  const missing = pages.map(({ source }) => source).filter((one) => one !== home && !listed.includes(one));
  if (missing.length > 0)
    throw new Error(`${home} does not list ${missing.join(', ')}: add a line to a track`);
}

export interface SidebarItem {
  readonly text: string;
  readonly link: string;
  readonly items?: SidebarItem[];
}

export interface SidebarTrack {
  readonly text: string;
  readonly items: SidebarItem[];
}

export const sidebarOf = (tracks: readonly Track[]): SidebarTrack[] => {
  const item = ({ page, text, children }: Entry): SidebarItem => ({
    text,
    link: addressOf(page.path),
    ...(children.length > 0 && { items: children.map(item) }),
  });
  return tracks.map(({ title, entries }) => ({ text: title, items: entries.map(item) }));
};

/** The description of each page, for search engines, by its path. */
export const descriptionsOf = (tracks: readonly Track[]): Map<string, string> =>
  new Map(
    tracks
      .flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.children]))
      .map(({ page, description }) => [page.path, description]),
  );
