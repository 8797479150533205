/** The messages of a witness (C2SP tlog-witness): the request `add-checkpoint`, and its answers. */
import { type ParsedCheckpoint, parseCheckpoint } from './checkpoint.ts';
import { isSize, parseDecimal } from './decimal.ts';
import { TransparencyError } from './errors.ts';
import { formatHash, isHash, parseHash } from './hash.ts';
import { readLinesOf } from './lines.ts';
import { formatNote, maxNoteBytes, type Note, parseNote } from './note.ts';

export const maxProofLines = 63;
const maxHeadBytes = 4 * 1024;
export const maxRequestBytes = maxHeadBytes + maxNoteBytes;

export interface AddCheckpoint {
  /** The size that the log believes the witness to know; 0 without one. */
  readonly oldSize: number;
  /** The proof of consistency between that size and the checkpoint, in hexadecimal. */
  readonly proof: readonly string[];
  readonly note: Note;
}

export interface ParsedAddCheckpoint extends AddCheckpoint {
  /** Of the note. No signature of it has been verified. */
  readonly checkpoint: ParsedCheckpoint;
}

export function formatAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  if (!isSize(oldSize) || proof.length > maxProofLines || !proof.every(isHash))
    throw new TransparencyError('MESSAGE_MALFORMED', `a size and at most ${maxProofLines} hashes`);
  parseCheckpoint(note.text);
  const lines = [`old ${oldSize}`, ...proof.map(formatHash)].map((line) => `${line}\n`);
  return `${lines.join('')}\n${formatNote(note)}`;
}

/** Throws a TransparencyError for each request that a witness answers with 400. */
export function parseAddCheckpoint(input: string | Uint8Array): ParsedAddCheckpoint {
  const body = readLinesOf(input, maxRequestBytes, 'MESSAGE_MALFORMED');
  const end = body.indexOf('\n\n');
  if (end < 0) throw new TransparencyError('MESSAGE_MALFORMED', 'no blank line before the checkpoint');
  const [oldLine, ...proofLines] = body.slice(0, end).split('\n', maxProofLines + 2) as [string, ...string[]];
  if (proofLines.length > maxProofLines)
    throw new TransparencyError('MESSAGE_MALFORMED', `more than ${maxProofLines} lines of proof`);
  const oldSize = oldLine.startsWith('old ') ? parseDecimal(oldLine.slice(4)) : undefined;
  if (oldSize === undefined)
    throw new TransparencyError('MESSAGE_MALFORMED', 'the first line is not `old` and a size');
  const proof = proofLines.map(parseProofLine);
  const note = parseNote(body.slice(end + 2));
  const checkpoint = parseCheckpoint(note.text);
  if (oldSize > checkpoint.size)
    throw new TransparencyError('MESSAGE_MALFORMED', 'the old size is above that of the checkpoint');
  return { oldSize, proof, note, checkpoint };
}

function parseProofLine(line: string): string {
  const hash = parseHash(line);
  if (hash === undefined)
    throw new TransparencyError('MESSAGE_MALFORMED', 'a line of the proof is not the base64 of a hash');
  return hash;
}

/** The content type of an answer with status 409. */
export const sizeContentType = 'text/x.tlog.size';

/** The answer with status 409: the size of the newest checkpoint that the witness knows. */
export const formatKnownSize = (size: number): string => `${size}\n`;

export function parseKnownSize(input: string | Uint8Array): number {
  const text = readLinesOf(input, 17, 'MESSAGE_MALFORMED');
  const size = text.endsWith('\n') ? parseDecimal(text.slice(0, -1)) : undefined;
  if (size === undefined) throw new TransparencyError('MESSAGE_MALFORMED', 'not a size and a newline');
  return size;
}
