/** The signature of a log: Ed25519 (type 0x01) over the text of a note. */
import { concat, utf8 } from './bytes.ts';
import { type Signer, signatureBy } from './ed25519.ts';
import type { NoteSignature } from './note.ts';
import { signatureTypes } from './verifier-key.ts';

export async function signNote(text: string, { key, sign }: Signer): Promise<NoteSignature> {
  if (key.type !== signatureTypes.note) throw new TypeError(`${key.name} is not a key that signs notes`);
  const signature = await signatureBy(sign, utf8(text));
  return { name: key.name, keyId: key.keyId, payload: concat(signature) };
}
