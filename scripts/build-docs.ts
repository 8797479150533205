/**
 * `npm run docs`, and part of `npm ci` (prepare): VitePress builds docs/ into dist/docs, with each page as Markdown beside its HTML. It
 * does nothing while the sources are the same as at the last build.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBuildOnce, runBuild } from './build-once.ts';
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

if (import.meta.main) await runBuild('Documentation', 'vitepress', buildDocs);
