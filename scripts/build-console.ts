/**
 * `npm run build:console`, and part of `npm ci` (prepare): Vite builds console/ into dist/console, with a gzip file beside
 * each asset. It does nothing while the sources are the same as at the last build.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('../', import.meta.url));
const outDir = join(root, 'dist/console');
/** Outside the folder that the server serves. */
const stamp = join(root, 'dist/console.hash');
/** What a browser loads before it shows the first page. */
export const maxInitialScript = 250_000;
const compressible = /\.(js|css|svg|json|html)$/;

export interface ConsoleBuild {
  readonly hash: string;
  /** Bytes of the initial JavaScript, gzipped. */
  readonly initialScript: number;
}

/** The build of the present sources, if there is one. */
export function currentBuild(hash = hashOfSources()): ConsoleBuild | undefined {
  if (!existsSync(stamp) || !existsSync(join(outDir, 'index.html'))) return undefined;
  const last: ConsoleBuild = JSON.parse(readFileSync(stamp, 'utf8'));
  return last.hash === hash ? last : undefined;
}

/** Builds the console unless there is a build of these sources. */
export async function buildConsole(print: (line: string) => void = () => {}): Promise<void> {
  const hash = hashOfSources();
  if (currentBuild(hash)) return;
  const started = performance.now();
  print('Building the console (once, and again when its sources change)…');
  const { build } = await import('vite');
  // A folder of its own, so that a server of this checkout never serves half a build.
  const temporary = join(root, `dist/console-${process.pid}`);
  const { NODE_ENV } = process.env;
  // Otherwise a build that a test or a developer's shell starts has React's development version in it.
  process.env.NODE_ENV = 'production';
  try {
    await build({
      configFile: join(root, 'console/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: temporary },
    });
    const initialScript = initialScriptSize(temporary);
    compress(temporary);
    rmSync(outDir, { recursive: true, force: true });
    renameSync(temporary, outDir);
    writeFileSync(stamp, JSON.stringify({ hash, initialScript }));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    print(
      `Console built in ${seconds} s; initial JavaScript ${Math.round(initialScript / 1000)} KB gzipped.`,
    );
    if (initialScript > maxInitialScript)
      print(`Warning: the initial JavaScript is larger than ${maxInitialScript / 1000} KB.`);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Sources, configuration and the versions of the packages. */
function hashOfSources(): string {
  const files = globSync(
    ['console/{index.html,package.json,vite.config.ts,public/**,src/**}', 'sdk/typescript/src/**'],
    { cwd: root },
  )
    .filter((file) => statSync(join(root, file)).isFile())
    .sort();
  const hash = createHash('sha256');
  for (const file of [...files, 'package-lock.json']) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
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

if (import.meta.main) {
  if (existsSync(join(root, 'node_modules/vite'))) {
    mkdirSync(join(root, 'dist'), { recursive: true });
    await buildConsole(console.log).catch((error) => {
      // The API works without the console, so an installation goes on.
      if (process.env.npm_lifecycle_event !== 'prepare') throw error;
      console.log(`Console not built: ${error.message}`);
    });
  } else console.log('Console not built: the development packages are not installed.');
}
