/**
 * Builds the web console when a server starts from a checkout that has none yet. The published package contains the build, and no
 * script to make it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../kernel/package-root.ts';

const script = fileURLToPath(new URL('scripts/build-console.ts', packageRoot));
const built = fileURLToPath(new URL('dist/console/index.html', packageRoot));

/**
 * Begins the build and calls `say` with its progress. The server starts during the build: it serves the API at once, and the console
 * as soon as it is built. Resolves when the build has ended.
 */
export async function ensureConsole(say: (line: string) => void): Promise<void> {
  if (existsSync(built) || !existsSync(script)) return;
  say('Building the console…');
  // Ends with this process: a signal of the terminal reaches both.
  const child = spawn(process.execPath, [script], { stdio: 'ignore' });
  const stop = () => child.kill();
  process.once('exit', stop);
  await once(child, 'close').catch(() => {});
  process.off('exit', stop);
  if (!existsSync(built))
    say(
      'The console could not be built; the API works without it. `npm run build:console` shows the reason.',
    );
}
