/** A SHA-256 hash: 64 hexadecimal digits in memory (as in audit/merkle.ts), base64 in a line, 32 bytes in a tile. */
import { sha256 } from '../audit/sha256.ts';
import { concat, fromBase64, fromHex, toBase64, toHex } from './bytes.ts';

export const hashBytes = 32;

const hash = /^[0-9a-f]{64}$/;
export const isHash = (text: string): boolean => hash.test(text);

/** The root of a tree without entries (RFC 6962, section 2.1). */
export const emptyRoot = sha256('');

const leafPrefix = Uint8Array.of(0);

/** The leaf hash of an entry. */
export const entryHash = (entry: Uint8Array): string => sha256(concat(leafPrefix, entry));

export const formatHash = (digits: string): string => toBase64(fromHex(digits));

/** Undefined unless the text is the base64 of 32 bytes. */
export function parseHash(text: string): string | undefined {
  const bytes = text.length === 44 ? fromBase64(text) : undefined;
  return bytes?.length === hashBytes ? toHex(bytes) : undefined;
}
