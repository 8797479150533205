/**
 * `npm run build:console`, and part of `npm ci` (prepare): Vite builds console/ into dist/console, with a gzip file beside
 * each asset. It does nothing while the sources are the same as at the last build.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { createBuildOnce, runBuild } from './build-once.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
/** What a browser loads before it shows the first page. */
export const maxInitialScript = 250_000;
const compressible = /\.(js|css|svg|json|html)$/;

interface ConsoleBuild {
  /** Bytes of the initial JavaScript, gzipped. */
  readonly initialScript: number;
}

const once = createBuildOnce<ConsoleBuild>({
  root,
  name: 'console',
  folder: join(root, 'dist/console'),
  sources: ['console/{index.html,package.json,vite.config.ts,public/**,src/**}', 'sdk/typescript/src/**'],
  build: buildInto,
  describe: ({ initialScript }) =>
    `initial JavaScript ${Math.round(initialScript / 1000)} KB gzipped${initialScript > maxInitialScript ? `, which is more than ${maxInitialScript / 1000} KB` : ''}`,
});

export const currentBuild = once.current;
export const buildConsole = once.build;

async function buildInto(outDir: string): Promise<ConsoleBuild> {
  const { build } = await import('vite');
  const { NODE_ENV } = process.env;
  // Otherwise a build that a test or a developer's shell starts has React's development version in it.
  process.env.NODE_ENV = 'production';
  try {
    await build({
      configFile: join(root, 'console/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir },
    });
    const initialScript = initialScriptSize(outDir);
    compress(outDir);
    return { initialScript };
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

/** The entry and everything that it imports statically. */
function initialScriptSize(folder: string): number {
  const manifestPath = join(folder, 'manifest.json');
  const manifest: Record<string, Chunk> = JSON.parse(readFileSync(manifestPath, 'utf8'));
  const files = new Set<string>();
  const visit = ({ file, imports = [] }: Chunk) => {
    if (files.has(file)) return;
    files.add(file);
    for (const name of imports) if (manifest[name]) visit(manifest[name]);
  };
  for (const chunk of Object.values(manifest)) if (chunk.isEntry) visit(chunk);
  rmSync(manifestPath);
  return [...files]
    .filter((file) => file.endsWith('.js'))
    .reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0);
}

/** index.html gets a nonce with each answer, so it cannot be compressed beforehand. */
function compress(folder: string): void {
  for (const file of globSync('**/*', { cwd: folder })) {
    if (!compressible.test(file) || file === 'index.html') continue;
    const content = readFileSync(join(folder, file));
    writeFileSync(join(folder, `${file}.gz`), gzipSync(content, { level: 9 }));
  }
}

if (import.meta.main) await runBuild('Console', 'vite', buildConsole);
