/**
 * Cosignatures (C2SP tlog-cosignature, Ed25519, type 0x04): a witness signs a checkpoint together with a time. Its line has the time
 * (8 bytes, big-endian) before the signature.
 */
import { type Bytes, concat, utf8 } from './bytes.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { type Signer, signatureBy, signatureBytes } from './ed25519.ts';
import type { NoteSignature } from './note.ts';
import { signatureTypes } from './verifier-key.ts';

const timeBytes = 8;

/** `time` in seconds since 1970. */
export const cosignatureMessage = (time: number, text: string): Bytes =>
  utf8(`cosignature/v1\ntime ${time}\n${text}`);

/** `text` is the text of a checkpoint's note. Throws a TransparencyError when it is another text. */
export async function cosign(text: string, time: number, { key, sign }: Signer): Promise<NoteSignature> {
  if (key.type !== signatureTypes.cosignature)
    throw new TypeError(`${key.name} is not a key that cosigns checkpoints`);
  if (!Number.isSafeInteger(time) || time < 1)
    throw new TypeError('the time of a cosignature is a whole number of seconds, at least 1');
  parseCheckpoint(text);
  const timeField = new Uint8Array(timeBytes);
  new DataView(timeField.buffer).setBigUint64(0, BigInt(time));
  const signature = await signatureBy(sign, cosignatureMessage(time, text));
  return { name: key.name, keyId: key.keyId, payload: concat(timeField, signature) };
}

export interface CosignatureParts {
  /** In seconds since 1970. */
  readonly time: number;
  readonly signature: Bytes;
}

/** Undefined when the payload has another length, or a time that is zero or no exact number. */
export function parseCosignature(payload: Bytes): CosignatureParts | undefined {
  if (payload.length !== timeBytes + signatureBytes) return undefined;
  const time = Number(new DataView(payload.buffer, payload.byteOffset).getBigUint64(0));
  if (time < 1 || !Number.isSafeInteger(time)) return undefined;
  return { time, signature: payload.slice(timeBytes) };
}
