/**
 * Builds the web console and the documentation when a server starts from a checkout that has none yet. The published package contains
 * both, and no script to make them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../kernel/package-root.ts';

interface Pages {
  /** Below scripts/. */
  readonly script: string;
  /** Below dist/. */
  readonly folder: string;
  readonly progress?: string;
  readonly failure: string;
  /** Leaves the processor to the server. */
  readonly inBackground?: true;
}

type Say = (line: string) => void;

const pathOf = (path: string): string => fileURLToPath(new URL(path, packageRoot));

/**
 * The server starts during the build: it serves the API at once, and the pages as soon as they are built. Resolves when the build has
 * ended.
 */
async function ensureBuilt(pages: Pages, say: Say): Promise<void> {
  const script = pathOf(`scripts/${pages.script}`);
  const built = pathOf(`dist/${pages.folder}/index.html`);
  if (existsSync(built) || !existsSync(script)) return;
  if (pages.progress) say(pages.progress);
  // Ends with this process: a signal of the terminal reaches both.
  const child = spawn(process.execPath, [script], { stdio: 'ignore' });
  const stop = () => child.kill();
  process.once('exit', stop);
  if (pages.inBackground && child.pid) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  await once(child, 'close').catch(() => {});
  process.off('exit', stop);
  if (!existsSync(built)) say(pages.failure);
}

const webConsole: Pages = {
  script: 'build-console.ts',
  folder: 'console',
  progress: 'Building the console…',
  failure:
    'The console could not be built; the API works without it. `npm run build:console` shows the reason.',
};

/** Until it is built, /docs is the reference of the API. */
const documentation: Pages = {
  script: 'build-docs.ts',
  folder: 'docs',
  failure:
    'The documentation could not be built; /docs shows the API reference. `npm run docs` shows the reason.',
  inBackground: true,
};

export const ensureConsole = (say: Say): Promise<void> => ensureBuilt(webConsole, say);
export const ensureDocs = (say: Say): Promise<void> => ensureBuilt(documentation, say);
