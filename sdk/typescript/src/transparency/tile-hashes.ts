/** The bytes of a tile: its hashes, one after the other. */
import { nodeHash } from '../audit/merkle.ts';
import { type Bytes, fromHex, toHex } from './bytes.ts';
import { TransparencyError } from './errors.ts';
import { hashBytes, isHash } from './hash.ts';
import { fullWidth } from './tile.ts';

const hashDigits = 2 * hashBytes;

/** Throws unless the tile has exactly this width. */
export function parseTile(bytes: Uint8Array, width: number): readonly string[] {
  if (width < 1 || width > fullWidth || bytes.length !== width * hashBytes)
    throw new TransparencyError('TILE_MALFORMED', `a tile of ${width} hashes has ${width * hashBytes} bytes`);
  const digits = toHex(bytes);
  return Array.from({ length: width }, (_, at) => digits.slice(at * hashDigits, (at + 1) * hashDigits));
}

export function formatTile(hashes: readonly string[]): Bytes {
  if (hashes.length < 1 || hashes.length > fullWidth || !hashes.every(isHash))
    throw new TransparencyError('TILE_MALFORMED', `a tile has 1 to ${fullWidth} hashes`);
  return fromHex(hashes.join(''));
}

/** The root of a perfect tree over a power of two of hashes. For a full tile: its hash in the tile above. */
export function perfectRoot(hashes: readonly string[]): string {
  let level = hashes;
  while (level.length > 1)
    level = Array.from({ length: level.length / 2 }, (_, at) =>
      nodeHash(level[2 * at] as string, level[2 * at + 1] as string),
    );
  return level[0] as string;
}
