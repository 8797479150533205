/**
 * Signed notes (C2SP signed-note): a text, a blank line, and signature lines. This file owns the form only; open-note.ts verifies.
 * Nothing in a note may be used before a known key is found to have signed it.
 */
import { type Bytes, concat, fromBase64, fromHex, toBase64, toHex } from './bytes.ts';
import { TransparencyError } from './errors.ts';
import { readLinesOf } from './lines.ts';
import { isKeyName, isSameKey } from './verifier-key.ts';

export const maxNoteBytes = 256 * 1024;
export const maxSignatures = 100;

export interface NoteSignature {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly keyId: string;
  /** The bytes after the key id: a signature, or a time and a signature. */
  readonly payload: Bytes;
}

export interface Note {
  /** With its last newline. This is what keys sign. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

const linePrefix = '\u2014 ';
const keyIdBytes = 4;

export function parseNote(input: string | Uint8Array): Note {
  const note = readLinesOf(input, maxNoteBytes, 'NOTE_MALFORMED');
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw new TransparencyError('NOTE_MALFORMED', 'no blank line before the signatures');
  return { text: note.slice(0, end + 1), signatures: parseSignatureLines(note.slice(end + 2)) };
}

/** At least one line. The answer of a witness has such lines, too. */
export function parseSignatureLines(input: string | Uint8Array): readonly NoteSignature[] {
  const block = readLinesOf(input, maxNoteBytes, 'NOTE_MALFORMED');
  const lines = block.split('\n', maxSignatures + 2);
  if (lines.length > maxSignatures + 1)
    throw new TransparencyError('NOTE_MALFORMED', `more than ${maxSignatures} signatures`);
  if (lines.length < 2 || lines.pop() !== '')
    throw new TransparencyError('NOTE_MALFORMED', 'no signature lines that end with a newline');
  return lines.map(parseSignatureLine);
}

function parseSignatureLine(line: string): NoteSignature {
  const space = line.indexOf(' ', linePrefix.length);
  const name = line.slice(linePrefix.length, space);
  const bytes = fromBase64(line.slice(space + 1));
  if (!line.startsWith(linePrefix) || space < 0 || !isKeyName(name) || !bytes || bytes.length <= keyIdBytes)
    throw new TransparencyError('NOTE_MALFORMED', 'a line that is not a signature line');
  return { name, keyId: toHex(bytes.subarray(0, keyIdBytes)), payload: bytes.slice(keyIdBytes) };
}

/** Throws when a name would end its line, or has another character that a reader would refuse. */
export const formatSignatureLines = (signatures: readonly NoteSignature[]): string =>
  signatures.map(formatSignatureLine).join('');

function formatSignatureLine({ name, keyId, payload }: NoteSignature): string {
  if (!isKeyName(name)) throw new TransparencyError('NOTE_MALFORMED', 'a name that is not one of a key');
  return `${linePrefix}${name} ${toBase64(concat(fromHex(keyId), payload))}\n`;
}

/** Throws when a reader would refuse the note. */
export function formatNote({ text, signatures }: Note): string {
  if (!text.endsWith('\n')) throw new TransparencyError('NOTE_MALFORMED', 'the text ends without a newline');
  const note = `${text}\n${formatSignatureLines(signatures)}`;
  parseNote(note);
  return note;
}

/** Adds signatures at the end. One of a key that has signed before takes the place of its earlier one. */
export function withSignatures(note: Note, added: readonly NoteSignature[]): Note {
  const signatures: NoteSignature[] = [];
  for (const each of [...note.signatures, ...added]) {
    const at = signatures.findIndex((earlier) => isSameKey(earlier, each));
    signatures.splice(at < 0 ? signatures.length : at, at < 0 ? 0 : 1, each);
  }
  return { text: note.text, signatures };
}
