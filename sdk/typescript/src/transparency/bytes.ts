/** Bytes as UTF-8, hexadecimal digits or base64. Each reader accepts one spelling of a value only. */
import { TransparencyError, type TransparencyErrorCode } from './errors.ts';

/** Web Crypto takes no views of shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Bytes => encoder.encode(text);

/** The text of an input from outside. Throws when it has more than `limit` bytes, or is not UTF-8. */
export function textOf(input: string | Uint8Array, limit: number, code: TransparencyErrorCode): string {
  if (input.length > limit) throw new TransparencyError(code, `more than ${limit} bytes`);
  if (typeof input === 'string') {
    if (!input.isWellFormed()) throw new TransparencyError(code, 'not UTF-8');
    if (utf8(input).length > limit) throw new TransparencyError(code, `more than ${limit} bytes`);
    return input;
  }
  try {
    return decoder.decode(input);
  } catch {
    throw new TransparencyError(code, 'not UTF-8');
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** ECMAScript 2026. Where they are missing, a loop does the same, many times slower. */
const { fromHex: nativeFromHex } = Uint8Array as { fromHex?(digits: string): Bytes };
const { toHex: nativeToHex } = Uint8Array.prototype as { toHex?(this: Uint8Array): string };

export const toHex: (bytes: Uint8Array) => string = nativeToHex
  ? (bytes) => nativeToHex.call(bytes)
  : portableToHex;

/** Of digits that are known to be hexadecimal, in lower case. */
export const fromHex: (digits: string) => Bytes = nativeFromHex
  ? (digits) => nativeFromHex(digits)
  : portableFromHex;

export function portableToHex(bytes: Uint8Array): string {
  let digits = '';
  for (const byte of bytes) digits += byte.toString(16).padStart(2, '0');
  return digits;
}

export function portableFromHex(digits: string): Bytes {
  const bytes = new Uint8Array(digits.length / 2);
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Undefined unless the text is the base64 that an encoder writes: with padding, without spaces and surplus bits. */
export function fromBase64(text: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  if (btoa(binary) !== text) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
