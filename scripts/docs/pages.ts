/** The pages of the documentation site: each Markdown file of docs/, and a few from outside of it. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { mapProse } from './markdown.ts';

export interface DocsPage {
  /** The path in the repository, such as `docs/guides/README.md`. */
  readonly source: string;
  /** The path below /docs, such as `guides/index.md`. */
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
}

/** Pages of the repository that readers of the documentation need. */
const outside: Readonly<Record<string, string>> = {
  'README.md': 'start.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'vulnerabilities.md',
  'sdk/python/README.md': 'sdk/python.md',
  'sdk/typescript/README.md': 'sdk/typescript.md',
};

export const sourcesOfPages = (root: string): string[] => [
  ...Object.keys(outside),
  ...globSync('docs/**/*.md', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort(),
];

export const isIndex = (source: string): boolean => posix.basename(source) === 'README.md';

const pathOf = (source: string): string | undefined =>
  outside[source] ??
  (/^docs\/.*\.md$/.test(source)
    ? source.slice('docs/'.length).replace(/README\.md$/, 'index.md')
    : undefined);

export const readPages = (root: string): DocsPage[] =>
  sourcesOfPages(root).map((source) => {
    const markdown = readFileSync(join(root, source), 'utf8');
    const [, title] = /^# (.+)$/m.exec(markdown) ?? [];
    if (!title) throw new Error(`${source} has no title: its first line must be "# Title"`);
    return { source, path: pathOf(source) ?? source, title: title.replaceAll('`', ''), markdown };
  });

/** `/guides/webhooks` of `guides/webhooks.md`, `/guides/` of `guides/index.md`. */
export const addressOf = (path: string): string =>
  `/${path.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;

/** A file that pages name, and that is no page: where the site has it. Programs are text there. */
export const fileAddressOf = (file: string): string =>
  file.startsWith('docs/images/') ? file.slice('docs'.length) : `/files/${file}.txt`;

/** Where a link of a page leads. */
type Target =
  | { readonly kind: 'page'; readonly path: string; readonly anchor: string }
  | { readonly kind: 'file'; readonly file: string; readonly anchor: string }
  | { readonly kind: 'folder' }
  /** The document of the API: the server has it, and a page that shows it. */
  | { readonly kind: 'openapi' }
  | { readonly kind: 'other'; readonly link: string };

export function targetOf(root: string, { source }: Pick<DocsPage, 'source'>, link: string): Target {
  if (/^[a-z][a-z0-9+.-]*:|^#/i.test(link)) return { kind: 'other', link };
  const [address = '', anchor] = link.split('#');
  const file = posix.join(posix.dirname(source), decodeURI(address));
  const full = join(root, file);
  if (relative(root, full).startsWith('..') || !existsSync(full))
    throw new Error(`${source}: the link ${link} leads nowhere: there is no ${file}`);
  if (statSync(full).isDirectory()) return { kind: 'folder' };
  if (file === 'openapi.json') return { kind: 'openapi' };
  const path = pathOf(file);
  const place = { anchor: anchor === undefined ? '' : `#${anchor}` };
  return path ? { kind: 'page', path, ...place } : { kind: 'file', file, ...place };
}

/** Rewrites each link of a page. `write` returns undefined where the site has no such thing: the text stays. */
export const rewriteLinks = (
  root: string,
  page: DocsPage,
  write: (target: Target) => string | undefined,
): string =>
  mapProse(page.markdown, (prose) =>
    prose
      .replace(
        /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
        (_, image: string, text: string, link: string) => {
          const address = write(targetOf(root, page, link));
          return address === undefined ? text : `${image}[${text}](${address})`;
        },
      )
      .replace(/^( {0,3}\[[^\]]+\]: *)(\S+) *$/gm, (_, name: string, link: string) => {
        const address = write(targetOf(root, page, link));
        if (address === undefined) throw new Error(`${page.source}: the site has nothing for ${link}`);
        return name + address;
      }),
  );

/** The published Markdown: its links lead to Markdown, from wherever it is read. */
export const publishedMarkdown = (root: string, page: DocsPage): string =>
  rewriteLinks(root, page, (target) => {
    if (target.kind === 'other') return target.link;
    if (target.kind === 'folder') return undefined;
    if (target.kind === 'openapi') return '/openapi.json';
    const to = target.kind === 'page' ? target.path : fileAddressOf(target.file).slice(1);
    return (posix.relative(dirname(page.path), to) || posix.basename(to)) + target.anchor;
  });
