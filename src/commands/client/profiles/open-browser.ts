/** Opens an address in the person's browser, with the program of the platform. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Io } from '../../io.ts';

/** A program that cannot start says so at once; one that runs on has opened its window. */
const failsWithinMs = 1_500;

/** False when there is none, or when it fails. */
export async function openBrowser(io: Io, address: string): Promise<boolean> {
  const [program, ...args] = browserOf(io) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.unref();
  const waiting = new AbortController();
  const ended = once(child, 'exit', { signal: waiting.signal }).then(
    ([code]) => code === 0,
    () => false,
  );
  const running = io.sleep(failsWithinMs, waiting.signal).then(
    () => true,
    () => true,
  );
  return Promise.race([ended, running]).finally(() => waiting.abort());
}

/** BROWSER names a program, or `none`. Linux without a display, as over ssh, has no browser that the person sees. */
function browserOf({ env }: Io): string[] | undefined {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY } = env;
  if (BROWSER) return BROWSER === 'none' ? undefined : [BROWSER];
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}
