/** The file of a day: verified while it is written, and read back. */
import type { PublicKey, ReadStatement } from '../../../../sdk/typescript/src/audit/statements.ts';
import { type ExportVerdict, verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import type { Pace } from '../../../kernel/concurrency/pace.ts';
import type { Compression } from '../../../kernel/ports/compression.ts';
import { dayParts, type ExportDeps } from '../export/export.ts';
import { ArchiveFault } from './fault.ts';
import { createHandoff } from './handoff.ts';
import { digestOf, type FileDigest, inspectFile } from './inspect-file.ts';
import { createLinkHashes } from './link-hashes.ts';
import { type ArchiveDay, fileName } from './names.ts';
import type { Objects } from './objects.ts';
import { findLastOfDay } from './store.ts';

export interface ArchiveRun {
  readonly signal?: AbortSignal | undefined;
  /** For the part of the work that uses the database and most of the processor. */
  readonly pace: Pace;
  /** Between two parts of the work: other work gets its turn. */
  rest(events: number): Promise<void>;
}

interface ChainFacts {
  readonly events: number;
  readonly chainHead: string;
}

/** What is in the file, and verified. */
export interface FileFacts extends ChainFacts, FileDigest {}

export interface DayFileDeps extends ExportDeps {
  readonly readStatement: ReadStatement;
  readonly compression: Compression;
}

export type EnsureDayFile = (
  day: ArchiveDay,
  keys: readonly PublicKey[],
  run: ArchiveRun,
) => Promise<FileFacts>;

/** Each chunk goes through a thread of the compression. */
const charactersPerChunk = 256 * 1024;

/** A file that is there already is read back and verified, like one that this process writes. */
export function createDayFiles(deps: DayFileDeps, objects: Objects): EnsureDayFile {
  const { db, readStatement: read, compression } = deps;

  /** The end of the day in the database, which no file may contradict. */
  const requireSame = async (
    { organizationId, day }: ArchiveDay,
    { finding, statement, span, events }: ExportVerdict,
    refuse: (problem: string) => ArchiveFault,
  ): Promise<ChainFacts> => {
    if (finding) throw refuse(finding.problem);
    if (!statement || !span) throw refuse('it is not signed, or has no events');
    if (statement.organizationId !== organizationId || statement.day !== day)
      throw refuse(`it is the day ${statement.day} of organization ${statement.organizationId}`);
    const last = await findLastOfDay(db, { organizationId, day });
    if (last?.head !== span.to.head || last.size !== span.to.size || events !== last.size - span.from.size)
      throw refuse(`it has ${events} events up to link ${span.to.size}, and the database has other ones`);
    return { events, chainHead: span.to.head };
  };

  /** Undefined when another process was faster. */
  const write = async (
    day: ArchiveDay,
    keys: readonly PublicKey[],
    { pace, rest, signal }: ArchiveRun,
  ): Promise<FileFacts | undefined> => {
    const name = fileName(day);
    const lines = createHandoff<readonly string[]>();
    const hashes = createLinkHashes();
    const verdict = verifyExport(lines.values, { roots: keys, read, hashLink: hashes.ofVerified });
    verdict.catch(() => {});
    let facts: ChainFacts | undefined;
    async function* content() {
      let text = '';
      for await (const { texts, links } of paced(
        dayParts({ ...deps, hashLink: hashes.ofPrinted }, day),
        pace,
      )) {
        signal?.throwIfAborted();
        await lines.push(texts);
        text += `${texts.join('\n')}\n`;
        if (text.length >= charactersPerChunk) {
          yield Buffer.from(text);
          text = '';
        }
        await rest(links);
      }
      yield Buffer.from(text);
      lines.end();
      // The storage writes nothing when this throws.
      facts = await requireSame(day, await verdict, notIntact);
    }
    const file = digestOf(compression.compress(content()));
    const options = { contentType: 'application/zstd', signal };
    if ((await objects.create(name, file.content, options)) === 'exists') return undefined;
    if (!facts) throw objects.wrong(name, 'the storage has not taken all of it');
    return { ...facts, ...file.digest() };
  };

  /** The text was verified while it was written, and the file has a checksum of it. */
  const confirm = async (name: string, facts: FileFacts, { rest, signal }: ArchiveRun): Promise<void> => {
    const object = await objects.open(name, signal);
    if (!object) throw objects.wrong(name, 'it is gone directly after it was written');
    const file = digestOf(object.content);
    for await (const _ of compression.decompress(file.content)) await rest(0);
    const { bytes, sha256 } = file.digest();
    if (object.bytes !== bytes || sha256 !== facts.sha256)
      throw objects.wrong(name, 'it has other bytes than were written');
  };

  /** Undefined when there is no file. */
  const adopt = async (
    day: ArchiveDay,
    keys: readonly PublicKey[],
    { rest, signal }: ArchiveRun,
  ): Promise<FileFacts | undefined> => {
    const name = fileName(day);
    const object = await objects.open(name, signal);
    if (!object) return undefined;
    const options = { compression, roots: keys, read };
    const { verdict, ...digest } = await inspectFile(resting(object.content, rest), options);
    const facts = await requireSame(day, verdict, (problem) => objects.wrong(name, problem));
    if (digest.bytes !== object.bytes) throw objects.wrong(name, 'it has more bytes after its end');
    return { ...facts, ...digest };
  };

  return async (day, keys, run) => {
    const name = fileName(day);
    const rethrow = objects.rethrowDamage(name);
    const before = await adopt(day, keys, run).catch(rethrow);
    if (before) return before;
    const written = await write(day, keys, run);
    if (written) await confirm(name, written, run).catch(rethrow);
    const facts = written ?? (await adopt(day, keys, run).catch(rethrow));
    if (!facts) throw objects.wrong(name, 'it was there, and is gone');
    return facts;
  };
}

export const notIntact = (problem: string) =>
  new ArchiveFault(
    'log',
    `the log of this day is not intact: ${problem}. Nothing was written; see the runbook of AuditLogNotIntact`,
  );

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

async function* resting(
  content: AsyncIterable<Uint8Array>,
  rest: ArchiveRun['rest'],
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content) {
    yield chunk;
    await rest(0);
  }
}
