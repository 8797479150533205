/**
 * Encryption at rest of secrets that must be read again: AES-256-GCM with DATA_ENCRYPTION_KEY, bound to their row. A sealed text names
 * its key, so that keys can be rotated row by row. Without a key, secrets are stored as plain text.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

export interface Vault {
  readonly encrypts: boolean;
  /** `owner` names the row and is authenticated: a sealed text cannot be opened for another row. */
  seal(text: string, owner: string): string;
  /** Throws VaultProblem for another key or a changed text. */
  open(sealed: string, owner: string): string;
}

export class VaultProblem extends Error {}

const cipher = 'aes-256-gcm';
const prefix = 'sealed:1:';

export function createVault(key: Buffer | undefined): Vault {
  const keyId = key && createHash('sha256').update('key id').update(key).digest('hex').slice(0, 16);
  return {
    encrypts: key !== undefined,
    seal(text, owner) {
      if (!key) return text;
      const nonce = randomBytes(12);
      const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(owner));
      const sealed = Buffer.concat([nonce, sealing.update(text, 'utf8'), sealing.final()]);
      return `${prefix}${keyId}:${Buffer.concat([sealed, sealing.getAuthTag()]).toString('base64')}`;
    },
    open(sealed, owner) {
      if (!sealed.startsWith(prefix)) return sealed;
      const [under = '', text = ''] = sealed.slice(prefix.length).split(':');
      if (!key || under !== keyId)
        throw new VaultProblem(`it is sealed with the key ${under}, which is not DATA_ENCRYPTION_KEY`);
      const bytes = Buffer.from(text, 'base64');
      // The decoder ignores invalid characters.
      if (bytes.toString('base64') !== text) throw new VaultProblem('it was changed since it was sealed');
      try {
        const opening = createDecipheriv(cipher, key, bytes.subarray(0, 12), { authTagLength: 16 });
        opening.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-16));
        return opening.update(bytes.subarray(12, -16), undefined, 'utf8') + opening.final('utf8');
      } catch (error) {
        throw new VaultProblem('it was changed since it was sealed', { cause: error });
      }
    },
  };
}
