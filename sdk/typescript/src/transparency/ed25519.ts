/** Ed25519 signatures: verified with Web Crypto, made by a callback that has the private key. */
import { UnsupportedAlgorithm } from '../audit/statement-reader.ts';
import type { Bytes } from './bytes.ts';
import type { VerifierKey } from './verifier-key.ts';

export const signatureBytes = 64;

/** Signs a message with Ed25519. */
export type Sign = (message: Bytes) => Uint8Array | Promise<Uint8Array>;

export interface Signer {
  readonly key: VerifierKey;
  readonly sign: Sign;
}

/** Throws an UnsupportedAlgorithm when the platform has no Ed25519. */
export async function verifyEd25519(publicKey: Bytes, message: Bytes, signature: Bytes): Promise<boolean> {
  if (signature.length !== signatureBytes) return false;
  try {
    const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', key, signature, message);
  } catch (error) {
    if ((error as { name?: unknown }).name === 'NotSupportedError') throw new UnsupportedAlgorithm('EdDSA');
    return false;
  }
}

/** The signature of the callback; throws when it is not one of Ed25519. */
export async function signatureBy(sign: Sign, message: Bytes): Promise<Uint8Array> {
  const signature = await sign(message);
  if (signature.length !== signatureBytes)
    throw new TypeError(`a signature of Ed25519 has ${signatureBytes} bytes, not ${signature.length}`);
  return signature;
}
