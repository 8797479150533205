/** The superuser's password: generated once, stored in a file beside the data directory, never on a command line. */
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.ts';

export const passwordFile = (dataDir: string) => `${dataDir}.password`;

/** Concurrent launchers must agree on one password: the first one creates the file. */
export async function createPassword(dataDir: string): Promise<string> {
  const file = passwordFile(dataDir);
  const fresh = randomBytes(24).toString('base64url');
  try {
    await writeFile(file, `${fresh}\n`, { flag: 'wx', mode: 0o600 });
    return fresh;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const existing = await readFile(file, 'utf8');
  if (existing.trim() !== '') return existing.trim();
  // Empty: another launcher is writing it, or was killed before the first byte.
  await sleep(500);
  if ((await readFile(file, 'utf8')).trim() === '') await rm(file, { force: true });
  return createPassword(dataDir);
}

export async function readPassword(dataDir: string): Promise<string> {
  try {
    return (await readFile(passwordFile(dataDir), 'utf8')).trim();
  } catch (cause) {
    throw new Error(
      `The password of the cluster cannot be read from ${passwordFile(dataDir)}. ` +
        `Restore the file, or delete ${dataDir} to create a new cluster.`,
      { cause },
    );
  }
}
