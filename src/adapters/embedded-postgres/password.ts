/** The superuser's password: drawn once, kept in a file beside the data directory, never on a command line. */
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.ts';

export const passwordFile = (dataDir: string) => `${dataDir}.password`;

/** Two launchers creating the same cluster must agree: whoever creates the file decides. */
export async function settlePassword(dataDir: string): Promise<string> {
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
  // Either somebody is writing it right now, or was killed before the first byte.
  await sleep(500);
  if ((await readFile(file, 'utf8')).trim() === '') await rm(file, { force: true });
  return settlePassword(dataDir);
}

export async function readPassword(dataDir: string): Promise<string> {
  try {
    return (await readFile(passwordFile(dataDir), 'utf8')).trim();
  } catch (cause) {
    throw new Error(
      `The password of the cluster cannot be read from ${passwordFile(dataDir)}. ` +
        `Put the file back, or delete ${dataDir} for a fresh start.`,
      { cause },
    );
  }
}
