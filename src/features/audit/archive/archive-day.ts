/**
 * Archives one day of one organization: the file, its manifest, and then the row. After a stop at any step the next attempt goes on. No
 * transaction stays open, and the lock of the sequencer is not taken.
 */
import { type Clock, isoTime } from '../../../kernel/clock.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../kernel/ports/object-storage.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { sign } from '../chain/statements.ts';
import { type ArchiveRun, createDayFiles, type DayFileDeps, type FileFacts, notIntact } from './day-file.ts';
import { ArchiveFault } from './fault.ts';
import {
  type ArchiveManifest,
  maxManifestBytes,
  parseManifest,
  printManifest,
  statementFields,
} from './manifest.ts';
import { type ArchiveDay, fileName, manifestName } from './names.ts';
import { createObjects } from './objects.ts';
import { type ArchiveRow, insertArchive } from './store.ts';

export interface ArchiveDayDeps extends DayFileDeps {
  readonly clock: Clock;
  readonly keyring: Pick<Keyring, 'trust'>;
  readonly storage: ObjectStorage;
  /** How long the storage may take for one step. */
  readonly stallMs: number;
}

export type ArchiveOneDay = (day: ArchiveDay, run: ArchiveRun) => Promise<ArchiveRow>;

export function createArchiveDay(deps: ArchiveDayDeps): ArchiveOneDay {
  const { db, clock, signer, keyring, storage, stallMs } = deps;
  const objects = createObjects(storage, stallMs);
  const ensureFile = createDayFiles(deps, objects);

  const readManifest = async (
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<ArchiveManifest | undefined> => {
    const object = await objects.open(name, signal);
    if (!object) return undefined;
    if (object.bytes > maxManifestBytes) throw objects.wrong(name, `it has ${object.bytes} bytes`);
    const text = Buffer.concat(await Array.fromAsync(object.content)).toString();
    const manifest = parseManifest(text);
    if (!manifest) throw objects.wrong(name, 'it is no manifest');
    return manifest;
  };

  /** That of an attempt before, or of this one. Returns its time. */
  const ensureManifest = async (
    { organizationId, day: date }: ArchiveDay,
    facts: FileFacts,
    signal: AbortSignal | undefined,
  ): Promise<string> => {
    const name = manifestName({ organizationId, day: date });
    const before = await readManifest(name, signal);
    if (!before) {
      const statement = { organizationId, date, ...facts, createdAt: isoTime(clock) };
      const manifest = {
        version: 1,
        ...statement,
        signed: await sign(signer, 'archive', statement),
      } as const;
      await objects.create(name, oneChunk(printManifest(manifest)), {
        contentType: 'application/json',
        signal,
      });
    }
    const manifest = before ?? (await readManifest(name, signal));
    if (!manifest) throw objects.wrong(name, 'it is gone directly after it was written');
    const expected = { organizationId, date, ...facts, createdAt: manifest.createdAt };
    const differing = statementFields.find((field) => manifest[field] !== expected[field]);
    if (differing === undefined) return manifest.createdAt;
    throw objects.wrong(
      name,
      `its ${differing} is ${manifest[differing]}, and that of the file is ${expected[differing]}`,
    );
  };

  return async (day, run) => {
    try {
      const { keys, finding } = await keyring.trust(db);
      if (finding) throw notIntact(finding.problem);
      const facts = await ensureFile(day, keys, run);
      const createdAt = await ensureManifest(day, facts, run.signal);
      const row = { ...day, ...facts, object: fileName(day), createdAt };
      await insertArchive(db, row);
      return row;
    } catch (error) {
      if (!(error instanceof ObjectStorageError)) throw error;
      throw new ArchiveFault('storage', `${error.message}. The day is archived when the storage works again`);
    }
  };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}
