/**
 * The seal is a MAC of every audit row. Its key is derived from the private key, so a node with another private key cannot check it:
 * the holder shares the seal key with it, encrypted for its public key (JWE). RSA keys use RSA-OAEP-256. P-256 and Ed25519 keys use
 * ECDH-ES+A256KW, Ed25519 keys with the X25519 key that belongs to them.
 */
import { createPublicKey, hash, hkdfSync, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, type JWK } from 'jose';
import type { PublicKey, Seal, Signer } from '../../kernel/ports/signer.ts';
import { x25519PrivateKey, x25519PublicKey } from './x25519.ts';

const encryption = 'A256GCM';
const halfBytes = 32;

export function createSeals(privateKey: KeyObject): Pick<Signer, 'seal' | 'shareSeal' | 'openSeal'> {
  const sealKey = deriveSealKey(privateKey);
  const decryption = decryptionOf(privateKey);
  return {
    seal: createSeal(sealKey),
    shareSeal: (recipient) =>
      new CompactEncrypt(sealKey)
        .setProtectedHeader({ alg: keyManagement(recipient.kty), enc: encryption, kid: recipient.kid })
        .encrypt(encryptionKey(recipient)),
    async openSeal(shared) {
      try {
        const { plaintext } = await compactDecrypt(shared, decryption.key, {
          keyManagementAlgorithms: [decryption.algorithm],
          contentEncryptionAlgorithms: [encryption],
        });
        return plaintext.length === 2 * halfBytes ? createSeal(Buffer.from(plaintext)) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

const keyManagement = (kty: unknown): string => (kty === 'RSA' ? 'RSA-OAEP-256' : 'ECDH-ES+A256KW');

/** Without `use` and `alg`, which restrict the key to signatures. */
const encryptionKey = ({ kty, crv, n, e, x, y }: PublicKey): KeyObject =>
  kty === 'OKP'
    ? x25519PublicKey(String(x))
    : createPublicKey({ key: { kty, crv, n, e, x, y } as JsonWebKeyInput['key'], format: 'jwk' });

function decryptionOf(privateKey: KeyObject): { algorithm: string; key: KeyObject } {
  const { kty, d = '', x = '' } = privateKey.export({ format: 'jwk' }) as JWK;
  return { algorithm: keyManagement(kty), key: kty === 'OKP' ? x25519PrivateKey(d, x) : privateKey };
}

/** The inner and the outer key of HMAC's construction, concatenated. */
function deriveSealKey(privateKey: KeyObject): Buffer {
  const secret = secretOf(privateKey);
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, halfBytes));
  return Buffer.concat([derive('countersign audit seal, inner'), derive('countersign audit seal, outer')]);
}

/** An EC key has several DER encodings (SEC 1, with or without its public half), so its secret number is used instead. */
export const secretOf = (privateKey: KeyObject): Buffer =>
  privateKey.asymmetricKeyType === 'rsa'
    ? privateKey.export({ type: 'pkcs8', format: 'der' })
    : Buffer.from(String(privateKey.export({ format: 'jwk' }).d), 'base64url');

/** HMAC's construction, sha256(outer ‖ sha256(inner ‖ text)): four times as fast as one Hmac object per text. */
function createSeal(sealKey: Buffer): Seal {
  const inner = sealKey.subarray(0, halfBytes).toString('hex');
  const outer = sealKey.subarray(halfBytes).toString('hex');
  return (text) => hash('sha256', outer + hash('sha256', inner + text)).slice(0, 32);
}
