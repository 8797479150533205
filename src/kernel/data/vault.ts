/**
 * Encryption at rest of secrets that must be read again: AES-256-GCM with DATA_ENCRYPTION_KEY, bound to their row. A sealed text names
 * its key, so that keys can be rotated row by row: further keys open texts, and only DATA_ENCRYPTION_KEY seals. Without it, secrets
 * are stored as plain text.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { type Sql, sql } from './sql.ts';

export interface Vault {
  readonly encrypts: boolean;
  /** The key that seals. */
  readonly keyId: string | undefined;
  /** All texts that the current key has sealed begin with this; an empty text without a key. */
  readonly currentPrefix: string;
  /** Whether one of the keys has this id. */
  knows(keyId: string): boolean;
  /** `owner` names the row and is authenticated: a sealed text cannot be opened for another row. */
  seal(text: string, owner: string): string;
  /** Throws VaultProblem for another key or a changed text. */
  open(sealed: string, owner: string): string;
}

export class VaultProblem extends Error {}

const cipher = 'aes-256-gcm';
/** Then the id of the key, a colon, and nonce, ciphertext and tag in base64. */
const sealedPrefix = 'sealed:1:';

/** The id of the key that a stored text names; undefined for plain text. */
export const keyIdIn = (text: string): string | undefined =>
  text.startsWith(sealedPrefix) ? text.slice(sealedPrefix.length).split(':')[0] : undefined;

/** The same in SQL; null for plain text. */
export const keyIdOf = (column: Sql): Sql =>
  sql`case when starts_with(${column}, ${sealedPrefix}) then split_part(${column}, ':', 3) end`;

const idOfKey = (key: Buffer): string =>
  createHash('sha256').update('key id').update(key).digest('hex').slice(0, 16);

/** `otherKeys` open texts too: earlier keys, and the next one. */
export function createVault(key: Buffer | undefined, otherKeys: readonly Buffer[] = []): Vault {
  const keyId = key && idOfKey(key);
  const currentPrefix = keyId === undefined ? '' : `${sealedPrefix}${keyId}:`;
  const keys = new Map([...otherKeys, ...(key ? [key] : [])].map((each) => [idOfKey(each), each]));
  return {
    encrypts: key !== undefined,
    keyId,
    currentPrefix,
    knows: (id) => keys.has(id),
    seal(text, owner) {
      if (!key) return text;
      const nonce = randomBytes(12);
      const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(owner));
      const sealed = Buffer.concat([nonce, sealing.update(text, 'utf8'), sealing.final()]);
      return `${currentPrefix}${Buffer.concat([sealed, sealing.getAuthTag()]).toString('base64')}`;
    },
    open(sealed, owner) {
      const under = keyIdIn(sealed);
      if (under === undefined) return sealed;
      const [, text = ''] = sealed.slice(sealedPrefix.length).split(':');
      const opener = keys.get(under);
      if (!opener)
        throw new VaultProblem(
          `it is sealed with the key ${under}, which is neither DATA_ENCRYPTION_KEY nor one of DATA_ENCRYPTION_PREVIOUS_KEYS`,
        );
      const bytes = Buffer.from(text, 'base64');
      // The decoder ignores invalid characters.
      if (bytes.toString('base64') !== text) throw new VaultProblem('it was changed since it was sealed');
      try {
        const opening = createDecipheriv(cipher, opener, bytes.subarray(0, 12), { authTagLength: 16 });
        opening.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-16));
        return opening.update(bytes.subarray(12, -16), undefined, 'utf8') + opening.final('utf8');
      } catch (error) {
        throw new VaultProblem('it was changed since it was sealed', { cause: error });
      }
    },
  };
}
