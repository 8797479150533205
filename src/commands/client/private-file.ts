/**
 * Files with secrets that the commands store: the profiles, and the signing secrets of `listen`. Their owner alone can read them. A
 * change holds a lock and replaces the file in one step, so that two commands at a time lose nothing.
 */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../command-error.ts';
import type { Io } from '../io.ts';
import { printError } from '../terminal.ts';

/** The user's own. COUNTERSIGN_CONFIG moves the profiles alone: it may be in a project, where a new file could be committed. */
export const configFolder = (io: Io): string =>
  join(io.env.XDG_CONFIG_HOME || join(io.env.HOME || homedir(), '.config'), 'countersign');

/** Undefined when there is no such file. */
export function readPrivateFile(io: Io, file: string): string | undefined {
  try {
    keepPrivate(io, file);
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof CommandError) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CommandError(`cannot read ${file}: ${message}`);
  }
}

/** Others could have read the secrets already, so the owner is told. Windows has no such modes. */
function keepPrivate(io: Io, file: string): void {
  if (process.platform === 'win32') return;
  const { uid, mode } = statSync(file);
  if (uid !== process.getuid?.())
    throw new CommandError(
      `${file} belongs to another user of this machine; set COUNTERSIGN_CONFIG to a file of your own`,
    );
  if ((mode & 0o077) === 0) return;
  chmodSync(file, 0o600);
  printError(
    io,
    `${file} was open to other users of this machine; now it is not (mode 600). Rotate its secrets if others could have read them.`,
  );
}

const lockTimeoutMs = 5_000;
/** A lock this old belongs to a command that was killed. */
const staleLockMs = 30_000;

/** Stores what `change` makes of the text. `change` reads the file itself, while no other command changes it. */
export async function changePrivateFile(io: Io, file: string, change: () => string): Promise<void> {
  try {
    const folder = dirname(file);
    // The folder of COUNTERSIGN_CONFIG may hold other files.
    const isOurs = !existsSync(folder) || folder === configFolder(io);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isOurs) chmodSync(folder, 0o700);
    const draft = `${file}.new`;
    const descriptor = await lock(draft, file);
    try {
      writeSync(descriptor, change());
      fsyncSync(descriptor);
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot store ${file}: ${(error as Error).message}`);
  }
}

/** In one step, and readable by the owner alone, also when the old file was not. */
export function replacePrivateFile(file: string, text: string): void {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** A name that no other user can guess and link to a file of ours. */
export const draftOf = (file: string): string => `${file}.${randomUUID()}.part`;

/** The new file is the lock: it can be created once, until it replaces the old file. */
async function lock(draft: string, file: string): Promise<number> {
  const until = Date.now() + lockTimeoutMs;
  for (;;) {
    try {
      return openSync(draft, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (Date.now() - (statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > staleLockMs)
      rmSync(draft, { force: true });
    else if (Date.now() > until)
      throw new CommandError(`another command changes ${file}; if there is none, remove ${draft}`);
    await delay(20);
  }
}
