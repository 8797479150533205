/**
 * Verification of a file by the browser: an export, or a day of the archive while it is downloaded. It holds some lines at a time. Witnesses
 * are judged afterwards, by the checkpoint of the log in the file (witnessing.ts). Pure: the bytes and the keys are given.
 */
import { createDecoder, splitLines } from '../../../../../sdk/typescript/src/audit/read-lines.ts';
import { createSha256 } from '../../../../../sdk/typescript/src/audit/sha256.ts';
import { createStatementReader } from '../../../../../sdk/typescript/src/audit/statement-reader.ts';
import type { ArchiveStatement } from '../../../../../sdk/typescript/src/audit/statements.ts';
import { type ExportVerdict, verifyExport } from '../../../../../sdk/typescript/src/audit/verify-export.ts';
import { decompressed, NotDecodable } from './decompress.ts';
import type { Evidence } from './evidence.ts';
import { type Finding, finding, shownFinding } from './findings.ts';
import { readTrust } from './trust.ts';
import { type Unproven, unlessUnsupported } from './unproven.ts';

/** A day of the archive, as GET /audit/archives lists it. */
export type ListedDay = Omit<ArchiveStatement, 'createdAt'>;

export interface FileProgress {
  readonly bytes: number;
  readonly events: number;
}

export interface FileVerification {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The file is compressed, and must be this day. Without it, it is an export. */
  readonly listed?: ListedDay | undefined;
  readonly evidence: Pick<Evidence, 'keys' | 'publishedKeys'>;
  onProgress?(progress: FileProgress): void;
}

export interface IntactFile {
  readonly status: 'intact';
  readonly events: number;
  readonly chains: number;
  /** The signed note of the log in the file, whose signatures are not verified yet. */
  readonly logCheckpoint: string | undefined;
  /** How many of the events it covers. */
  readonly logEvents: number;
}

export interface BrokenFile {
  readonly status: 'broken';
  readonly finding: Finding;
  /** Events in order before the finding. */
  readonly checked: number;
  readonly line?: number | undefined;
  /** Whether the file is, byte for byte, the one in the list. */
  readonly isAsListed?: boolean | undefined;
}

export type FileVerdict = IntactFile | BrokenFile | Unproven;

export const verifyFile = (options: FileVerification): Promise<FileVerdict> =>
  unlessUnsupported(() => verify(options));

async function verify({ chunks, listed, evidence, onProgress }: FileVerification): Promise<FileVerdict> {
  const read = createStatementReader();
  const trust = await readTrust(read, evidence);
  if (trust.finding) return { status: 'broken', finding: finding('KEY_NOT_TRUSTED'), checked: 0 };
  let events = 0;
  const file = measure(chunks, listed, (bytes) => onProgress?.({ bytes, events }));
  const content = listed ? decompressed(file.source) : file.source;
  let verdict: ExportVerdict | undefined;
  let problem: Finding | undefined;
  try {
    verdict = await verifyExport(splitLines(textOf(content)), {
      roots: trust.keys,
      read,
      onProgress: (checked) => {
        events = checked;
      },
    });
    problem = fileFinding(verdict, listed);
  } catch (error) {
    if (error instanceof NotDecodable) problem = finding('FILE_UNREADABLE');
    else if (error instanceof LongerThanListed) problem = finding('FILE_CHANGED');
    else throw error;
  }
  const isAsListed = await file.isAsListed().catch((error): undefined => {
    // With a finding it does not matter that the rest did not arrive.
    if (!problem) throw error;
  });
  if (isAsListed === false) problem ??= finding('FILE_CHANGED');
  if (problem || !verdict)
    return {
      status: 'broken',
      finding: problem ?? finding('FILE_UNREADABLE'),
      checked: verdict?.events ?? events,
      line: verdict?.line,
      isAsListed,
    };
  const { chains, logCheckpoint, logEvents } = verdict;
  return { status: 'intact', events: verdict.events, chains, logCheckpoint, logEvents };
}

function fileFinding(
  { finding: problem, statement, events, span }: ExportVerdict,
  listed: ListedDay | undefined,
): Finding | undefined {
  if (problem) return shownFinding(problem);
  if (!statement) return finding('FILE_NOT_SIGNED');
  if (!listed) return undefined;
  const isDay = statement.organizationId === listed.organizationId && statement.day === listed.date;
  if (!isDay) return finding('FILE_OF_ANOTHER_DAY');
  const isListed = events === listed.events && span?.to.head === listed.chainHead;
  return isListed ? undefined : finding('FILE_LISTED_DIFFERENTLY');
}

class LongerThanListed extends Error {}

/** Counts and hashes what is read. The end of verification does not close `source`: the hash is that of the whole file. */
function measure(
  chunks: AsyncIterable<Uint8Array>,
  listed: Pick<ListedDay, 'bytes' | 'sha256'> | undefined,
  onRead: (bytes: number) => void,
) {
  const hash = createSha256();
  const reading = (async function* () {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (listed && bytes > listed.bytes) throw new LongerThanListed();
      hash.update(chunk);
      onRead(bytes);
      yield chunk;
    }
  })();
  return {
    source: { [Symbol.asyncIterator]: () => ({ next: () => reading.next() }) },
    /** After all was read. Undefined for a file that is in no list. */
    async isAsListed(): Promise<boolean | undefined> {
      try {
        while (!(await reading.next()).done);
      } catch (error) {
        if (error instanceof LongerThanListed) return false;
        throw error;
      }
      return listed && hash.digest() === listed.sha256;
    },
  };
}

async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decode = createDecoder();
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}
