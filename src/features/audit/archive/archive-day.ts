/**
 * Archives one day of one organization: verifies the export while it is written, reads the file back, then writes the manifest and the
 * row. After a stop at any step the next attempt goes on: a file that is there already is read back and verified like one of its own. No
 * transaction stays open, and the sequencer's lock is not taken.
 */
import type { PublicKey, ReadStatement } from '../../../../sdk/typescript/src/audit/statements.ts';
import type { ExportVerdict } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import { verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import { type Clock, isoTime } from '../../../kernel/clock.ts';
import type { Pace } from '../../../kernel/concurrency/pace.ts';
import { createStallTimer, type StallTimer } from '../../../kernel/concurrency/stall-timer.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { type Compression, DamagedFile } from '../../../kernel/ports/compression.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../kernel/ports/object-storage.ts';
import type { Signer } from '../../../kernel/ports/signer.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { sign } from '../chain/statements.ts';
import { dayParts, type ExportDeps } from '../export/export.ts';
import { ArchiveFault } from './fault.ts';
import { createHandoff } from './handoff.ts';
import { digestOf, type FileDigest, inspectFile } from './inspect-file.ts';
import {
  type ArchiveManifest,
  maxManifestBytes,
  parseManifest,
  printManifest,
  statementFields,
} from './manifest.ts';
import { type ArchiveDay, fileName, manifestName } from './names.ts';
import { type ArchiveRow, findLastOfDay, insertArchive } from './store.ts';

export interface ArchiveDayDeps extends ExportDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  readonly keyring: Pick<Keyring, 'trust'>;
  readonly storage: ObjectStorage;
  readonly compression: Compression;
  /** How long the storage may take for one step. */
  readonly stallMs: number;
}

export interface ArchiveRun {
  readonly signal?: AbortSignal | undefined;
  /** For the part of the work that uses the database and most of the processor. */
  readonly pace: Pace;
  /** Between two parts of the work: other work gets its turn. */
  rest(events: number): Promise<void>;
}

/** What is in the file, and verified. */
interface FileFacts extends FileDigest {
  readonly events: number;
  readonly chainHead: string;
}

export type ArchiveOneDay = (day: ArchiveDay, run: ArchiveRun) => Promise<ArchiveRow>;

export function createArchiveDay(deps: ArchiveDayDeps): ArchiveOneDay {
  const { db, clock, signer, readStatement, keyring, storage, compression, stallMs } = deps;
  const placeOf = (name: string) => `${storage.location}/${name}`;

  const timerFor = (name: string, signal: AbortSignal | undefined) =>
    createStallTimer(stallMs, {
      signal,
      failure: () =>
        new ObjectStorageError(
          `${placeOf(name)}: the storage has not answered for ${stallMs / 1_000} seconds`,
        ),
    });

  const trustedKeys = async (): Promise<readonly PublicKey[]> => {
    const { keys, finding } = await keyring.trust(db);
    if (finding) throw notIntact(finding.problem);
    return keys;
  };

  /** The end of the day in the database, which no file may contradict. */
  const requireSame = async (
    { organizationId, day }: ArchiveDay,
    { finding, statement, span, events }: ExportVerdict,
    refuse: (problem: string) => ArchiveFault,
  ): Promise<Omit<FileFacts, keyof FileDigest>> => {
    if (finding) throw refuse(finding.problem);
    if (!statement || !span) throw refuse('it is not signed, or has no events');
    if (statement.organizationId !== organizationId || statement.day !== day)
      throw refuse(`it is the day ${statement.day} of organization ${statement.organizationId}`);
    const last = await findLastOfDay(db, { organizationId, day });
    if (last?.head !== span.to.head || last.size !== span.to.size || events !== last.size - span.from.size)
      throw refuse(`it has ${events} events up to link ${span.to.size}, and the database has other ones`);
    return { events, chainHead: span.to.head };
  };

  /** Undefined when there was a file already. */
  const write = async (
    day: ArchiveDay,
    { pace, rest, signal }: ArchiveRun,
    keys: readonly PublicKey[],
  ): Promise<FileFacts | undefined> => {
    const name = fileName(day);
    const timer = timerFor(name, signal);
    const lines = createHandoff<readonly string[]>();
    const verdict = verifyExport(lines.values, { roots: keys, read: readStatement });
    verdict.catch(() => {});
    let facts: Omit<FileFacts, keyof FileDigest> | undefined;
    async function* content() {
      for await (const { texts, links } of paced(dayParts(deps, day), pace)) {
        signal?.throwIfAborted();
        await lines.push(texts);
        yield Buffer.from(`${texts.join('\n')}\n`);
        await rest(links);
      }
      lines.end();
      // The storage writes nothing when this throws.
      facts = await requireSame(day, await verdict, notIntact);
    }
    const file = digestOf(compression.compress(content()));
    timer.start();
    const created = await timer.race(
      storage.create(name, timed(file.content, timer), {
        contentType: 'application/zstd',
        signal: timer.signal,
      }),
    );
    if (created === 'exists') return undefined;
    if (!facts)
      throw new ObjectStorageError(`${placeOf(name)}: the storage has not read the file to its end`);
    return { ...facts, ...file.digest() };
  };

  const readObject = async <T>(
    name: string,
    signal: AbortSignal | undefined,
    use: (content: AsyncIterable<Uint8Array>, bytes: number) => Promise<T>,
  ): Promise<T | undefined> => {
    const timer = timerFor(name, signal);
    timer.start();
    const object = await timer.race(storage.read(name, timer.signal));
    if (!object) return undefined;
    return use(timer.whileAwaited(object.content), object.bytes);
  };

  const differs = (name: string) => (problem: string) =>
    new ArchiveFault(
      'content',
      `${placeOf(name)} is not what belongs there: ${problem}. Keep it as evidence, and move it away: the day is then archived again`,
    );

  /** Its text was verified while it was written. The file ends with a checksum of the text. */
  const confirm = async (
    name: string,
    facts: FileFacts,
    { rest, signal }: ArchiveRun,
  ): Promise<FileFacts> => {
    const refuse = differs(name);
    const isSame = await readObject(name, signal, async (content, size) => {
      const file = digestOf(content);
      for await (const _ of compression.decompress(file.content)) await rest(0);
      const { bytes, sha256 } = file.digest();
      return size === bytes && sha256 === facts.sha256;
    }).catch(orRefuse(refuse));
    if (isSame === undefined) throw refuse('it is gone directly after it was written');
    if (!isSame) throw refuse('it has other bytes than were written');
    return facts;
  };

  /** Undefined when there is no file. */
  const adopt = async (
    day: ArchiveDay,
    { rest, signal }: ArchiveRun,
    keys: readonly PublicKey[],
  ): Promise<FileFacts | undefined> => {
    const name = fileName(day);
    const refuse = differs(name);
    return readObject(name, signal, async (content, size) => {
      const { verdict, bytes, sha256 } = await inspectFile(resting(content, rest), {
        compression,
        roots: keys,
        read: readStatement,
      });
      const facts = await requireSame(day, verdict, refuse);
      if (bytes !== size) throw refuse(`it has ${size - bytes} bytes after its end`);
      return { ...facts, bytes, sha256 };
    }).catch(orRefuse(refuse));
  };

  const readManifest = async (
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<ArchiveManifest | undefined> => {
    const text = await readObject(name, signal, async (content, bytes) => {
      if (bytes > maxManifestBytes) throw differs(name)(`it has ${bytes} bytes`);
      return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(content)));
    });
    return text === undefined
      ? undefined
      : (parseManifest(text) ?? failWith(differs(name)('it is no manifest')));
  };

  /** Of one attempt before, or of this one. Returns its time. */
  const writeManifest = async (
    { organizationId, day }: ArchiveDay,
    facts: FileFacts,
    signal: AbortSignal | undefined,
  ): Promise<string> => {
    const name = manifestName({ organizationId, day });
    const before = await readManifest(name, signal);
    if (!before) {
      const statement = { organizationId, date: day, ...facts, createdAt: isoTime(clock) };
      const manifest = {
        version: 1,
        ...statement,
        signed: await sign(signer, 'archive', statement),
      } as const;
      const timer = timerFor(name, signal);
      timer.start();
      await timer.race(
        storage.create(name, oneChunk(printManifest(manifest)), {
          contentType: 'application/json',
          signal: timer.signal,
        }),
      );
    }
    const manifest = before ?? (await readManifest(name, signal));
    if (!manifest) throw differs(name)('it is gone directly after it was written');
    const expected = { organizationId, date: day, ...facts, createdAt: manifest.createdAt };
    const wrong = statementFields.find((field) => manifest[field] !== expected[field]);
    if (wrong !== undefined)
      throw differs(name)(`its ${wrong} is ${manifest[wrong]}, and that of the file is ${expected[wrong]}`);
    return manifest.createdAt;
  };

  return async (day, run) => {
    try {
      const keys = await trustedKeys();
      let facts = await adopt(day, run, keys);
      if (!facts) {
        const written = await write(day, run, keys);
        facts = written ? await confirm(fileName(day), written, run) : await adopt(day, run, keys);
      }
      if (!facts) throw differs(fileName(day))('it is there and cannot be read');
      const createdAt = await writeManifest(day, facts, run.signal);
      const row = { ...day, ...facts, object: fileName(day), createdAt };
      await insertArchive(db, row);
      return row;
    } catch (error) {
      if (!(error instanceof ObjectStorageError)) throw error;
      throw new ArchiveFault('storage', `${error.message}. The day is archived when the storage works again`);
    }
  };
}

const notIntact = (problem: string) =>
  new ArchiveFault(
    'log',
    `the log of this day is not intact: ${problem}. Nothing was written; see the runbook of AuditLogNotIntact`,
  );

function failWith(error: Error): never {
  throw error;
}

/** A file that cannot be decompressed is not what belongs there. */
const orRefuse = (refuse: (problem: string) => ArchiveFault) => (error: unknown) => {
  throw error instanceof DamagedFile ? refuse(error.message) : error;
};

async function* paced<T>(source: AsyncIterable<T>, pace: Pace): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await pace(() => iterator.next());
      if (done) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** The time counts while the storage has a chunk, and after the last one. */
async function* timed(
  content: AsyncIterable<Uint8Array>,
  timer: StallTimer,
): AsyncGenerator<Uint8Array, void> {
  timer.pause();
  for await (const chunk of content) {
    timer.start();
    yield chunk;
    timer.pause();
  }
  timer.start();
}

async function* resting(
  content: AsyncIterable<Uint8Array>,
  rest: ArchiveRun['rest'],
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content) {
    yield chunk;
    await rest(0);
  }
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array, void> {
  yield new TextEncoder().encode(text);
}
