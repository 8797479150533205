/** Verifies the signatures of a note by known keys, and ignores all others. */
import { utf8 } from './bytes.ts';
import { cosignatureMessage, parseCosignature } from './cosignature.ts';
import { verifyEd25519 } from './ed25519.ts';
import { TransparencyError } from './errors.ts';
import { type Note, type NoteSignature, parseNote } from './note.ts';
import { isSameKey, signatureTypes, type VerifierKey } from './verifier-key.ts';

export interface VerifiedSignature {
  readonly key: VerifierKey;
  readonly signature: NoteSignature;
  /** Of a cosignature, in seconds since 1970. */
  readonly time?: number;
}

export interface OpenedNote extends Note {
  /** In the order of the note. A key can be here more than once. */
  readonly verified: readonly VerifiedSignature[];
}

/**
 * Throws a TransparencyError when no known key has signed, or when one of the signatures that name a known key is wrong: such a note
 * was changed, or is of another log.
 */
export async function openNote(
  input: string | Uint8Array,
  keys: readonly VerifierKey[],
): Promise<OpenedNote> {
  const note = parseNote(input);
  const verified = await verifySignatures(note.text, note.signatures, keys);
  if (verified.length === 0) throw new TransparencyError('NOTE_NOT_SIGNED', 'no known key has signed');
  return { ...note, verified };
}

/** The signatures by known keys. Throws a TransparencyError when one of them is wrong. */
export async function verifySignatures(
  text: string,
  signatures: readonly NoteSignature[],
  keys: readonly VerifierKey[],
): Promise<readonly VerifiedSignature[]> {
  const verified: VerifiedSignature[] = [];
  for (const signature of signatures) {
    const named = keys.filter((key) => isSameKey(key, signature));
    if (named.length === 0) continue;
    // With more than one, an attacker has made a key for the id of another.
    const [key] = named as [VerifierKey];
    const verdict = named.length === 1 ? await verifySignature(text, signature, key) : undefined;
    if (!verdict)
      throw new TransparencyError('SIGNATURE_INVALID', `the signature of ${key.name} is not its own`);
    verified.push({ key, signature, ...verdict });
  }
  return verified;
}

/** Undefined when the key has not signed this text. */
async function verifySignature(
  text: string,
  { payload }: NoteSignature,
  { type, publicKey }: VerifierKey,
): Promise<{ readonly time?: number } | undefined> {
  if (type === signatureTypes.note)
    return (await verifyEd25519(publicKey, utf8(text), payload)) ? {} : undefined;
  const parts = parseCosignature(payload);
  if (!parts) return undefined;
  const { time, signature } = parts;
  const isSigned = await verifyEd25519(publicKey, cosignatureMessage(time, text), signature);
  return isSigned ? { time } : undefined;
}
