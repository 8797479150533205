/** The key of the instance log: Ed25519, and used for nothing else. Its name is the origin of the log. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type Checkpoint, formatCheckpoint } from '../../../sdk/typescript/src/transparency/checkpoint.ts';
import type { Signer } from '../../../sdk/typescript/src/transparency/ed25519.ts';
import { formatNote } from '../../../sdk/typescript/src/transparency/note.ts';
import { signNote } from '../../../sdk/typescript/src/transparency/sign-note.ts';
import {
  createVerifierKey,
  formatVerifierKey,
  signatureTypes,
} from '../../../sdk/typescript/src/transparency/verifier-key.ts';

export interface LogSigner extends Signer {
  /** As text. */
  readonly verifierKey: string;
}

const signers = new WeakMap<KeyObject, Map<string, LogSigner>>();

export function signerOf(origin: string, privateKey: KeyObject): LogSigner {
  const ofKey = signers.get(privateKey) ?? new Map<string, LogSigner>();
  signers.set(privateKey, ofKey);
  const signer = ofKey.get(origin) ?? createSigner(origin, privateKey);
  ofKey.set(origin, signer);
  return signer;
}

function createSigner(origin: string, privateKey: KeyObject): LogSigner {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const key = createVerifierKey(origin, signatureTypes.note, Buffer.from(x, 'base64url'));
  return { key, sign: (message) => sign(null, message, privateKey), verifierKey: formatVerifierKey(key) };
}

/** The text of a checkpoint with the signature of the log. */
export async function signCheckpoint(checkpoint: Checkpoint, privateKey: KeyObject): Promise<string> {
  const text = formatCheckpoint(checkpoint);
  return formatNote({ text, signatures: [await signNote(text, signerOf(checkpoint.origin, privateKey))] });
}

/** The origins of a host, in their order: a key that follows another one begins a log with the next. */
export function* originsOf(host: string): Generator<string> {
  yield `${host}/log`;
  for (let next = 2; ; next += 1) yield `${host}/log-${next}`;
}
