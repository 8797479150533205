/** The texts that `-f` names: files, all files of a folder, or standard input. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CommandError } from '../../../command-error.ts';
import type { Io } from '../../../io.ts';

export interface Source {
  /** For messages. */
  readonly name: string;
  readonly text: string;
  /** That paths in the text are relative to. */
  readonly folder?: string;
}

const mebibyte = 1024 * 1024;
/** Of all files together; about 20,000 agents. */
const maxBytes = 4 * mebibyte;
const maxFiles = 1_000;

export async function readSources(io: Pick<Io, 'stdin'>, paths: readonly string[]): Promise<Source[]> {
  const names = (await Promise.all(paths.map(filesOf))).flat();
  if (names.length > maxFiles)
    throw new CommandError(`${names.length} files are too many; apply at most ${maxFiles} at once`);
  const sources: Source[] = [];
  let left = maxBytes;
  for (const name of names) {
    const bytes = await read(io, name, left, `all files together may have ${maxBytes / mebibyte} MiB`);
    left -= bytes.length;
    const text = decode(name, bytes);
    sources.push(name === '-' ? { name: 'standard input', text } : { name, text, folder: dirname(name) });
  }
  return sources;
}

/** The text of one file, or of standard input for `-`. */
export async function readText(io: Pick<Io, 'stdin'>, name: string, atMost: number): Promise<string> {
  return decode(name, await read(io, name, atMost, `it may have ${atMost / mebibyte} MiB`));
}

async function filesOf(path: string): Promise<string[]> {
  if (path === '-') return [path];
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => /\.(ya?ml|json)$/i.test(name)).sort();
    if (names.length > 0) return names.map((name) => join(path, name));
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new CommandError(`${path} has no files that end in .yaml, .yml or .json`);
}

async function read(io: Pick<Io, 'stdin'>, name: string, atMost: number, limit: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of name === '-' ? io.stdin : createReadStream(name)) {
      length += chunk.length;
      if (length > atMost) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw unreadable(name, error);
  }
  if (length > atMost) throw new CommandError(`${name} is too large: ${limit}`);
  return Buffer.concat(chunks);
}

function decode(name: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CommandError(`${name} is not UTF-8 text`);
  }
}

const unreadable = (path: string, error: unknown): CommandError =>
  new CommandError(
    (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? `there is no file ${path}`
      : `cannot read ${path}: ${(error as Error).message}`,
  );
