/**
 * `npm run docs`: VitePress builds docs/ into dist/docs, with each page as Markdown beside its HTML. It does nothing while the sources
 * are the same as at the last build.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBuildOnce } from './build-once.ts';
import { buildSite } from './docs/site.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

export const docsFolder = join(root, 'dist/docs');

export const { build: buildDocs } = createBuildOnce({
  root,
  name: 'documentation',
  folder: docsFolder,
  sources: [
    'docs/**',
    '*.md',
    'sdk/*/README.md',
    'deploy/**',
    'openapi.json',
    'package.json',
    'console/{public,src/app/fonts}/**',
    'scripts/{build-docs.ts,docs/**}',
  ],
  build: (outDir) => buildSite(root, outDir),
  describe: ({ pages }) => `${pages} pages`,
});

if (import.meta.main) {
  if (existsSync(join(root, 'node_modules/vitepress'))) await buildDocs(console.log);
  else console.log('Documentation not built: the development packages are not installed.');
}
