/** Builds the site: VitePress reads copies of the pages whose links are those of the site. */
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { moveInlineScripts } from './inline-scripts.ts';
import { requireTargets } from './links.ts';
import { llmsFull, llmsIndex } from './llms.ts';
import { withoutComments, withTabs } from './markdown.ts';
import { descriptionsOf, readTracks, sidebarOf } from './navigation.ts';
import { type DocsPage, fileAddressOf, publishedMarkdown, readPages, rewriteLinks } from './pages.ts';

/** Too long to be found in, or a list of results. */
const notSearched = new Set(['changelog.md', 'evidence/mutants.md']);

const write = (file: string, content: string): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
};

export async function buildSite(root: string, outDir: string): Promise<{ pages: number }> {
  const pages = readPages(root);
  const tracks = readTracks(root, pages);
  const files = new Set<string>();
  // Below the repository, so that the packages are found.
  const staged = `${outDir}-source`;
  rmSync(staged, { recursive: true, force: true });
  try {
    const descriptions = descriptionsOf(tracks);
    for (const page of pages) {
      const markdown = withTabs(sitePage(root, page, files), page.source);
      const head = {
        title: page.title,
        description: descriptions.get(page.path),
        search: !notSearched.has(page.path),
        // The outline of the home page would repeat the navigation.
        ...(page.path === 'index.md' && { aside: false }),
      };
      write(join(staged, page.path), `---\n${JSON.stringify(head)}\n---\n\n${withoutComments(markdown)}`);
    }
    cpSync(join(root, 'docs/images'), join(staged, 'public/images'), { recursive: true });
    copyFileSync(join(root, 'console/public/favicon.svg'), join(staged, 'public/favicon.svg'));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    configure(staged, { version, outDir, tracks: sidebarOf(tracks) });
    await runVitePress(staged);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
  for (const page of pages) write(join(outDir, page.path), withoutComments(publishedMarkdown(root, page)));
  for (const file of files) write(join(outDir, fileAddressOf(file)), readFileSync(join(root, file), 'utf8'));
  write(join(outDir, 'llms.txt'), llmsIndex(tracks));
  write(join(outDir, 'llms-full.txt'), llmsFull(root, tracks));
  rmSync(join(outDir, 'hashmap.json'), { force: true });
  moveInlineScripts(outDir);
  requireTargets(outDir);
  return { pages: pages.length };
}

/** The page with links as VitePress has them, from the root of the site. Notes the files that it names. */
const sitePage = (root: string, page: DocsPage, files: Set<string>): string =>
  rewriteLinks(root, page, (target) => {
    if (target.kind === 'other') return target.link;
    if (target.kind === 'folder') return undefined;
    if (target.kind === 'openapi') return '/api';
    if (target.kind === 'page') return `/${target.path}${target.anchor}`;
    if (!target.file.startsWith('docs/images/')) files.add(target.file);
    return fileAddressOf(target.file);
  });

function configure(staged: string, settings: object): void {
  const own = (file: string) => JSON.stringify(join(import.meta.dirname, 'vitepress', file));
  // Vite would bundle a static import, which takes seconds; Node reads TypeScript as it is.
  write(
    join(staged, '.vitepress/config.mjs'),
    `const file = ${own('config.ts')};
const { createConfig } = await import(/* @vite-ignore */ file);
export default createConfig(${JSON.stringify(settings)});
`,
  );
  write(join(staged, '.vitepress/theme/index.ts'), `export { default } from ${own('theme/index.ts')};\n`);
}

async function runVitePress(staged: string): Promise<void> {
  // Its types are those of a browser: vitepress/tsconfig.json has them.
  const name = 'vitepress';
  const { build }: { build(root: string): Promise<void> } = await import(name);
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await build(staged);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}
