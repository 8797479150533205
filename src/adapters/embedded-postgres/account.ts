/**
 * The operating-system account of the server. PostgreSQL refuses to run as root, so root starts it under an unprivileged account;
 * other users run it as themselves. The unprivileged account may lack access to root's folders, so the permission checks are here.
 */
import type { Stats } from 'node:fs';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from './errors.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** For files that the unprivileged account cannot reach in their own place. Only root writes here. */
const SHARED_DIR = '/var/lib/countersign';
const UNPRIVILEGED: Account = { uid: 65534, gid: 65534 };

/** Undefined: the current user. For root, an existing cluster keeps its owner. */
export async function chooseAccount(clusterDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDir).catch(() => undefined);
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : UNPRIVILEGED;
}

/** The access bits (4 read, 2 write, 1 execute) the account has, by the class it falls into. */
export function permits(file: Stats, account: Account, bits: number): boolean {
  const shift = file.uid === account.uid ? 6 : file.gid === account.gid ? 3 : 0;
  return ((file.mode >> shift) & bits) === bits;
}

/** Whether the account can traverse this folder and all its parents. */
export async function canEnter(account: Account | undefined, folder: string): Promise<boolean> {
  if (!account) return true;
  let current = await realpath(folder);
  while (permits(await stat(current), account, 1)) {
    if (dirname(current) === current) return true;
    current = dirname(current);
  }
  return false;
}

/** A folder under the shared one which the account can enter. */
export async function sharedFolder(account: Account, ...names: string[]): Promise<string> {
  let folder = SHARED_DIR;
  await createAccessible(dirname(folder));
  await createAccessible(folder);
  for (const name of names) {
    folder = join(folder, name);
    await createAccessible(folder);
  }
  if (await canEnter(account, folder)) return folder;
  throw new Error(
    `PostgreSQL cannot run as root, and the account used instead (uid ${account.uid}) cannot enter ${folder}. ` +
      'Start as an ordinary user, or make that folder and its parents accessible (chmod o+x).',
  );
}

export function isInSharedFolder(path: string): boolean {
  return path.startsWith(`${SHARED_DIR}/`);
}

/** Sets the mode of a new folder, since the umask may restrict it. An existing folder keeps its mode. */
async function createAccessible(folder: string): Promise<void> {
  try {
    await mkdir(folder);
    await chmod(folder, 0o755);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
