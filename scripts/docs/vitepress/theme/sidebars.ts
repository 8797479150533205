/** The sidebar of each page has all tracks, and the pages of its own: all pages in each file would be most of the site. */
import type { DefaultTheme } from 'vitepress';
import type { SidebarItem, SidebarTrack } from '../../navigation.ts';

const fileOf = (link: string): string => `${link.endsWith('/') ? `${link}index` : link}.md`;
const linksOf = ({ link, items = [] }: SidebarItem): string[] => [link, ...items.flatMap(linksOf)];

/** By the path of the page, such as `/guides/webhooks.md`. */
export function sidebarsOf(tracks: readonly SidebarTrack[]): DefaultTheme.SidebarMulti {
  const closed = tracks.map(({ text, items }) => ({ text, link: items[0]?.link ?? '/', items: [] }));
  const sidebars = tracks.flatMap(({ text, items }, index) => {
    const sidebar = closed.with(index, { text, items: items as never[], link: items[0]?.link ?? '/' });
    return items.flatMap(linksOf).map((link) => [fileOf(link), sidebar]);
  });
  return Object.fromEntries([...sidebars, ['/index.md', closed]]);
}
