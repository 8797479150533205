/** A checkpoint that its log has signed, with the cosignatures of known witnesses. */
import { type ParsedCheckpoint, parseCheckpoint } from './checkpoint.ts';
import { TransparencyError } from './errors.ts';
import { type Note, parseNote } from './note.ts';
import { openNote } from './open-note.ts';
import { isSameKey, type VerifierKey } from './verifier-key.ts';

export interface Cosignature {
  readonly witness: VerifierKey;
  /** In seconds since 1970. */
  readonly time: number;
}

export interface OpenedCheckpoint {
  readonly checkpoint: ParsedCheckpoint;
  readonly note: Note;
  readonly cosignatures: readonly Cosignature[];
}

/** Throws a TransparencyError unless the key of the log has signed, under its own name as the origin. */
export async function openCheckpoint(
  input: string | Uint8Array,
  logKey: VerifierKey,
  witnesses: readonly VerifierKey[] = [],
): Promise<OpenedCheckpoint> {
  const checkpoint = parseCheckpoint(parseNote(input).text);
  if (checkpoint.origin !== logKey.name)
    throw new TransparencyError('ORIGIN_MISMATCH', `the checkpoint is not of the log ${logKey.name}`);
  const { verified, text, signatures } = await openNote(input, [logKey, ...witnesses]);
  if (!verified.some(({ key }) => isSameKey(key, logKey)))
    throw new TransparencyError('NOTE_NOT_SIGNED', `${logKey.name} has not signed the checkpoint`);
  const cosignatures = verified.flatMap(({ key, time }) =>
    time === undefined ? [] : [{ witness: key, time }],
  );
  return { checkpoint, note: { text, signatures }, cosignatures };
}
