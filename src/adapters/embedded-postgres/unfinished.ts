/**
 * Folders are filled under an unfinished name and renamed when whole, so that a kill in between leaves only
 * something recognisable. The name carries who is filling it: an unfinished folder whose maker is gone is litter.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './errors.ts';

/** Tells us apart from an earlier process with the same pid, which is common in containers. */
const ourselves = randomBytes(4).toString('hex');

export function unfinishedName(target: string): string {
  const unique = randomBytes(4).toString('hex');
  return join(dirname(target), `${basename(target)}.unfinished-${process.pid}-${ourselves}-${unique}`);
}

/** False when somebody else finished the same target first; theirs stays. */
export async function finish(unfinished: string, target: string): Promise<boolean> {
  try {
    await rename(unfinished, target);
    return true;
  } catch (error) {
    const taken = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(codeOf(error) ?? '');
    if (!taken || (await readdir(target)).length === 0) throw error;
    await discard(unfinished);
    return false;
  }
}

export async function removeUnfinished(target: string): Promise<void> {
  const prefix = `${basename(target)}.unfinished-`;
  for (const name of await readdir(dirname(target))) {
    if (!name.startsWith(prefix)) continue;
    const [pid, maker] = name.slice(prefix.length).split('-');
    // Its initdb may outlive the maker for a moment and keep writing: what resists goes next time.
    if (!isWorking(Number(pid), maker)) await discard(join(dirname(target), name)).catch(() => {});
  }
}

function isWorking(pid: number, maker: string | undefined): boolean {
  if (pid === process.pid) return maker === ourselves;
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
