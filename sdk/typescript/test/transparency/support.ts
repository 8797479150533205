/** Keys, a tree that is computed without the code under test, and a log in memory. */
import assert from 'node:assert/strict';
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import fc from 'fast-check';
import { appendLeaves } from '../../src/transparency/append-leaves.ts';
import type { Signer } from '../../src/transparency/ed25519.ts';
import { TransparencyError, type TransparencyErrorCode } from '../../src/transparency/errors.ts';
import { entryHash } from '../../src/transparency/hash.ts';
import type { ReadTile } from '../../src/transparency/read-hashes.ts';
import { tilePath } from '../../src/transparency/tile-path.ts';
import { createVerifierKey, type SignatureType } from '../../src/transparency/verifier-key.ts';

/** A key of Ed25519 whose private key is one byte, repeated. */
export function signerOf(name: string, type: SignatureType, seed: number): Signer {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const der = Buffer.concat([prefix, Buffer.alloc(32, seed)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  return {
    key: createVerifierKey(name, type, publicKey),
    sign: (message) => sign(null, message, privateKey),
  };
}

/** The same as in go/tree.go. */
export const entryOf = (index: number): Uint8Array => Buffer.from(`entry ${index} of the log`);
export const entriesOf = (size: number): readonly Uint8Array[] =>
  Array.from({ length: size }, (_, at) => entryOf(at));
export const leavesOf = (size: number): readonly string[] => entriesOf(size).map(entryHash);

const hash = (...parts: readonly Uint8Array[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest();

/** MTH of RFC 6962, word for word. */
export function naiveRoot(entries: readonly Uint8Array[]): Buffer {
  if (entries.length === 0) return hash();
  if (entries.length === 1) return hash(Uint8Array.of(0), entries[0] as Uint8Array);
  let left = 1;
  while (left * 2 < entries.length) left *= 2;
  return hash(Uint8Array.of(1), naiveRoot(entries.slice(0, left)), naiveRoot(entries.slice(left)));
}

export interface MemoryLog {
  readonly size: number;
  readonly root: string;
  /** By their paths. */
  readonly tiles: ReadonlyMap<string, Uint8Array>;
  readonly readTile: ReadTile;
}

/** A log that grew in steps of these numbers of entries. */
export async function logOf(...steps: readonly number[]): Promise<MemoryLog> {
  const tiles = new Map<string, Uint8Array>();
  const readTile: ReadTile = async (tile) => {
    const bytes = tiles.get(tilePath(tile));
    assert.ok(bytes, `no tile ${tilePath(tile)}`);
    return bytes;
  };
  let size = 0;
  let root = '';
  const leaves = leavesOf(steps.reduce((sum, step) => sum + step, 0));
  for (const step of steps) {
    const grown = await appendLeaves(readTile, size, leaves.slice(size, size + step));
    for (const { tile, bytes } of grown.tiles) tiles.set(tilePath(tile), bytes);
    ({ size, root } = grown);
  }
  return { size, root, tiles, readTile };
}

/** Each copy of the bytes with one bit changed. */
export function* bitChanges(bytes: Uint8Array): Generator<Uint8Array> {
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Uint8Array.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    yield changed;
  }
}

export const refusal = (code: TransparencyErrorCode) => (error: unknown) => {
  assert.ok(error instanceof TransparencyError, String(error));
  assert.equal(error.code, code, error.message);
  return true;
};

const characters = [
  ...'aB0./:-_=# +—é😀',
  '\u007f',
  '\u0085',
  '\u00a0',
  '\u2028',
  '\u3000',
  '\ufeff',
  '\u{10ffff}',
];

/** A line of a note: characters that Unicode, base64 or the form of a note treats in a special way. */
export const lineText = (limits: { readonly minLength?: number; readonly maxLength?: number } = {}) =>
  fc.string({ unit: fc.constantFrom(...characters), ...limits });
