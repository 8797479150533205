/**
 * Who runs the server. PostgreSQL refuses root, so root lends it an account without rights; everybody else
 * runs it as themselves. That account may be unable to enter the folders root works in, which is why the
 * questions about reaching a path live here too.
 */
import type { Stats } from 'node:fs';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from './errors.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Where things go that the lent account cannot reach in their own place. Only root writes here. */
const SHARED_DIR = '/var/lib/countersign';
const NOBODY: Account = { uid: 65534, gid: 65534 };

/** Undefined means: as ourselves. As root an existing cluster keeps the owner it has. */
export async function chooseAccount(clusterDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDir).catch(() => undefined);
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : NOBODY;
}

/** The access bits (4 read, 2 write, 1 execute) the account has, by the class it falls into. */
export function permits(file: Stats, account: Account, bits: number): boolean {
  const shift = file.uid === account.uid ? 6 : file.gid === account.gid ? 3 : 0;
  return ((file.mode >> shift) & bits) === bits;
}

/** Whether the account can pass through this folder and every one above it. */
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
  await createOpen(dirname(folder));
  await createOpen(folder);
  for (const name of names) {
    folder = join(folder, name);
    await createOpen(folder);
  }
  if (await canEnter(account, folder)) return folder;
  throw new Error(
    `PostgreSQL cannot run as root, and the account it runs under instead (uid ${account.uid}) cannot enter ${folder}. ` +
      'Start as an ordinary user, or open that folder and those above it (chmod o+x).',
  );
}

export function isInSharedFolder(path: string): boolean {
  return path.startsWith(`${SHARED_DIR}/`);
}

/** Only what we create is opened, since the umask may have closed it; what was there keeps its permissions. */
async function createOpen(folder: string): Promise<void> {
  try {
    await mkdir(folder);
    await chmod(folder, 0o755);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
