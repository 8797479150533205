/**
 * The seal is a MAC of every audit row. Its key is derived from the private key, so a node with another private key cannot check it:
 * the holder shares the seal key with it, encrypted for its public key (JWE, RSA-OAEP-256).
 */
import { createPublicKey, hash, hkdfSync, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import type { PublicKey, Seal, Signer } from '../../kernel/ports/signer.ts';

const algorithm = 'RSA-OAEP-256';
const encryption = 'A256GCM';
const halfBytes = 32;

export function createSeals(privateKey: KeyObject): Pick<Signer, 'seal' | 'shareSeal' | 'openSeal'> {
  const sealKey = deriveSealKey(privateKey);
  return {
    seal: createSeal(sealKey),
    shareSeal: (recipient) =>
      new CompactEncrypt(sealKey)
        .setProtectedHeader({ alg: algorithm, enc: encryption, kid: recipient.kid })
        .encrypt(encryptionKey(recipient)),
    async openSeal(shared) {
      try {
        const { plaintext } = await compactDecrypt(shared, privateKey, {
          keyManagementAlgorithms: [algorithm],
          contentEncryptionAlgorithms: [encryption],
        });
        return plaintext.length === 2 * halfBytes ? createSeal(Buffer.from(plaintext)) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** Without `use` and `alg`, which restrict the key to signatures. */
const encryptionKey = ({ kty, n, e }: PublicKey): KeyObject =>
  createPublicKey({ key: { kty, n, e } as JsonWebKeyInput['key'], format: 'jwk' });

/** The inner and the outer key of HMAC's construction, concatenated. */
function deriveSealKey(privateKey: KeyObject): Buffer {
  const secret = privateKey.export({ type: 'pkcs8', format: 'der' });
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, halfBytes));
  return Buffer.concat([derive('countersign audit seal, inner'), derive('countersign audit seal, outer')]);
}

/** HMAC's construction, sha256(outer ‖ sha256(inner ‖ text)): four times as fast as one Hmac object per text. */
function createSeal(sealKey: Buffer): Seal {
  const inner = sealKey.subarray(0, halfBytes).toString('hex');
  const outer = sealKey.subarray(halfBytes).toString('hex');
  return (text) => hash('sha256', outer + hash('sha256', inner + text)).slice(0, 32);
}
