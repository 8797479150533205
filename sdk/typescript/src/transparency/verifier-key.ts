/**
 * Public keys in the text form of signed notes: `name+keyID+base64(type‖key)`. The key id depends on the type, so a log and a
 * witness with the same key have different ids.
 */
import { sha256 } from '../audit/sha256.ts';
import { type Bytes, concat, fromBase64, toBase64, utf8 } from './bytes.ts';
import { TransparencyError } from './errors.ts';

/** Ed25519 over the text of a note, and over a checkpoint with a time (cosignature/v1). */
export const signatureTypes = { note: 0x01, cosignature: 0x04 } as const;
export type SignatureType = (typeof signatureTypes)[keyof typeof signatureTypes];

export interface VerifierKey {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly keyId: string;
  readonly type: SignatureType;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Bytes;
}

const maxNameLength = 255;
const separators = /[\p{White_Space}+]/u;

/** Names in signature lines of others may be longer. */
export const isKeyName = (name: string): boolean =>
  name !== '' && !separators.test(name) && name.isWellFormed() && !hasControlCharacter(name);

const hasControlCharacter = (text: string): boolean => [...text].some((each) => each < ' ');

export function createVerifierKey(name: string, type: SignatureType, publicKey: Uint8Array): VerifierKey {
  if (!isKeyName(name) || name.length > maxNameLength)
    throw new TransparencyError(
      'KEY_MALFORMED',
      `the name of a key is 1 to ${maxNameLength} characters without spaces and plus`,
    );
  if (publicKey.length !== 32)
    throw new TransparencyError('KEY_MALFORMED', 'a public key of Ed25519 has 32 bytes');
  const keyId = sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey)).slice(0, 8);
  return { name, keyId, type, publicKey: concat(publicKey) };
}

export const formatVerifierKey = ({ name, keyId, type, publicKey }: VerifierKey): string =>
  `${name}+${keyId}+${toBase64(concat(Uint8Array.of(type), publicKey))}`;

/** `type` is the one that the reader needs; a key of another type is refused. */
export function parseVerifierKey(text: string, type: SignatureType): VerifierKey {
  // The base64 may have plus signs, the name has none.
  const [name = '', keyId, ...rest] = text.split('+');
  const bytes = fromBase64(rest.join('+'));
  if (keyId === undefined || !bytes || bytes.length === 0)
    throw new TransparencyError('KEY_MALFORMED', 'not of the form name+keyID+base64(type, key)');
  if (bytes[0] !== type)
    throw new TransparencyError(
      'KEY_MALFORMED',
      `the key has type ${hexByte(bytes[0] as number)}, not ${hexByte(type)}`,
    );
  const key = createVerifierKey(name, type, bytes.subarray(1));
  if (key.keyId !== keyId)
    throw new TransparencyError('KEY_MALFORMED', 'the key id is not that of this name and key');
  return key;
}

const hexByte = (byte: number) => `0x${byte.toString(16).padStart(2, '0')}`;

/** Key ids are short: two keys can have the same name and id, but not by accident. */
export const isSameKey = (
  a: Pick<VerifierKey, 'name' | 'keyId'>,
  b: Pick<VerifierKey, 'name' | 'keyId'>,
): boolean => a.name === b.name && a.keyId === b.keyId;

/** Two keys with different names can be one. */
export const isSamePublicKey = (a: VerifierKey, b: VerifierKey): boolean =>
  a.publicKey.every((byte, at) => byte === b.publicKey[at]);
