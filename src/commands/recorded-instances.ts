/**
 * The data folders in which the user has run `countersign dev`: a private file of the user. To start the PostgreSQL of a folder is to run
 * what its settings and its catalog say, so no other command starts it in a folder that came from another party.
 */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { changePrivateFile, configFolder, readPrivateFile } from './client/private-file.ts';
import { developmentFiles } from './development-files.ts';
import type { Io } from './io.ts';

const recordFile = (io: Io): string => join(configFolder(io), 'instances.json');

/** Absolute path of a data folder, and the digest of its signing key: another folder in the same place has another key. */
type Instances = Readonly<Record<string, string>>;

export const recordInstance = (io: Io, data: string): Promise<void> =>
  changePrivateFile(io, recordFile(io), () => {
    const [path, digest] = identityOf(data);
    const others = Object.entries(readInstances(io)).filter(([other]) => isCurrent(other));
    return `${JSON.stringify({ ...Object.fromEntries(others), [path]: digest }, null, 2)}\n`;
  });

export function isRecorded(io: Io, data: string): boolean {
  try {
    const [path, digest] = identityOf(data);
    return readInstances(io)[path] === digest;
  } catch {
    return false;
  }
}

function identityOf(data: string): [path: string, digest: string] {
  const key = readFileSync(developmentFiles(data).privateKey);
  return [realpathSync(data), createHash('sha256').update(key).digest('base64url')];
}

/** Folders that were removed are forgotten. */
function isCurrent(data: string): boolean {
  try {
    identityOf(data);
    return true;
  } catch {
    return false;
  }
}

/** A damaged file counts as none: the next start of `dev` writes it again. */
function readInstances(io: Io): Instances {
  try {
    const content: unknown = JSON.parse(readPrivateFile(io, recordFile(io)) ?? '{}');
    return Object.fromEntries(Object.entries(content as object));
  } catch {
    return {};
  }
}
