/**
 * What the witness has cosigned: for each log the newest checkpoint, or the two that show a fork. A state that goes back would let a log
 * show two trees, so each change is on the disk before the cosignature leaves, and one process at a time uses the file.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CommandError } from '../command-error.ts';

export interface KnownLog {
  readonly size: number;
  /** Hexadecimal. */
  readonly root: string;
  /** A note with the same size and another root, signed by the log: it is refused from then on. */
  readonly fork?: string;
}

export interface StateFile {
  get(origin: string): KnownLog | undefined;
  /** Returns when the change is on the disk. */
  put(origin: string, known: KnownLog): void;
  close(): void;
}

export function openStateFile(file: string): StateFile {
  const lock = `${file}.lock`;
  takeLock(lock, file);
  try {
    const logs = new Map(Object.entries(read(file)));
    return {
      get: (origin) => logs.get(origin),
      put(origin, known) {
        const next = new Map(logs).set(origin, known);
        replace(file, `${JSON.stringify({ logs: Object.fromEntries(next) }, null, 2)}\n`);
        logs.set(origin, known);
      },
      close: () => releaseLock(lock),
    };
  } catch (error) {
    releaseLock(lock);
    throw error;
  }
}

/** Of this process. */
const ownLocks = new Set<string>();

function releaseLock(lock: string): void {
  rmSync(lock, { force: true });
  ownLocks.delete(lock);
}

/** The file of a process that was killed stays, and names no process that runs. */
function takeLock(lock: string, file: string): void {
  if (createLock(lock, file)) return;
  if (!isRunning(lock)) {
    rmSync(lock, { force: true });
    if (createLock(lock, file)) return;
  }
  throw new CommandError(`another witness uses ${file}; if there is none, remove ${lock}`);
}

/** False when it is there already. */
function createLock(lock: string, file: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
    ownLocks.add(lock);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw new CommandError(`cannot store ${file}: ${message}`);
  }
}

function isRunning(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (!Number.isInteger(pid) || pid <= 0) return false;
    // In a container, each process has the number of the one before it.
    if (pid === process.pid) return ownLocks.has(lock);
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function read(file: string): Record<string, KnownLog> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    throw new CommandError(`cannot read ${file}: ${message}`);
  }
  try {
    const { logs } = JSON.parse(text);
    const known = Object.values(logs);
    if (known.length > 0 && known.every(isKnownLog)) return logs;
  } catch {
    // Not JSON, or without logs: the file is first written with one.
  }
  // With an empty state, the witness would cosign another tree.
  throw new CommandError(`${file} is not the state of a witness; restore it from a backup`);
}

function isKnownLog(value: unknown): value is KnownLog {
  const { size, root, fork } = (value ?? {}) as Partial<KnownLog>;
  return (
    Number.isSafeInteger(size) &&
    /^[0-9a-f]{64}$/.test(root ?? '') &&
    (fork === undefined || typeof fork === 'string')
  );
}

/** The rename is on the disk when the folder is. */
function replace(file: string, text: string): void {
  const draft = `${file}.new`;
  writeSynced(draft, text);
  renameSync(draft, file);
  if (process.platform === 'win32') return;
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function writeSynced(file: string, text: string): void {
  const descriptor = openSync(file, 'w', 0o600);
  try {
    // All of it, or an error: `writeSync` may write a part when the disk is almost full.
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
