/**
 * Folders are filled under a staging name and renamed when complete, so that a kill in between never leaves half a folder under its
 * final name. The staging name contains the pid of its process: a staging folder without a running process is stale.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './errors.ts';

/** Distinguishes this process from an earlier one with the same pid, which is common in containers. */
const instanceId = randomBytes(4).toString('hex');

export function stagingName(target: string): string {
  const unique = randomBytes(4).toString('hex');
  return join(dirname(target), `${basename(target)}.unfinished-${process.pid}-${instanceId}-${unique}`);
}

/** False when another process created the same target first; its folder stays. */
export async function moveIntoPlace(staging: string, target: string): Promise<boolean> {
  try {
    await rename(staging, target);
    return true;
  } catch (error) {
    const exists = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(codeOf(error) ?? '');
    if (!exists || (await readdir(target)).length === 0) throw error;
    await discard(staging);
    return false;
  }
}

export async function removeStale(target: string): Promise<void> {
  const prefix = `${basename(target)}.unfinished-`;
  for (const name of await readdir(dirname(target))) {
    if (!name.startsWith(prefix)) continue;
    const [pid, owner] = name.slice(prefix.length).split('-');
    // Its initdb may outlive the process and keep writing; then the next start removes the folder.
    if (!isRunning(Number(pid), owner)) await discard(join(dirname(target), name)).catch(() => {});
  }
}

function isRunning(pid: number, owner: string | undefined): boolean {
  if (pid === process.pid) return owner === instanceId;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

async function discard(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
