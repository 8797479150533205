/** Appends leaves to a tree of tiles. Reads only the partial tiles at its end. */

import type { Bytes } from './bytes.ts';
import { isSize } from './decimal.ts';
import { TransparencyError } from './errors.ts';
import { rootOf } from './prove.ts';
import type { ReadTile } from './read-hashes.ts';
import { fullWidth, type HashTile, tileIn } from './tile.ts';
import { formatTile, parseTile, perfectRoot } from './tile-hashes.ts';
import { tilePath } from './tile-path.ts';

export interface WrittenTile {
  readonly tile: HashTile;
  readonly bytes: Bytes;
}

export interface GrownTree {
  readonly size: number;
  readonly root: string;
  /** The new tiles, and the partial tiles of the old tree with their new width. */
  readonly tiles: readonly WrittenTile[];
}

/**
 * The tiles of the old tree are not verified. A writer compares `rootOf` its old size with the checkpoint that it has signed before
 * it appends.
 */
export async function appendLeaves(
  readTile: ReadTile,
  oldSize: number,
  leafHashes: readonly string[],
): Promise<GrownTree> {
  const size = oldSize + leafHashes.length;
  if (!isSize(oldSize) || !isSize(size)) throw new TransparencyError('OUT_OF_RANGE', 'the size of the tree');
  const tiles: WrittenTile[] = [];
  for (let level = 0, added = leafHashes; added.length > 0; level += 1) {
    const written = await appendOn(readTile, level, oldSize, added);
    tiles.push(...written.map(({ tile, hashes }) => ({ tile, bytes: formatTile(hashes) })));
    added = written.flatMap(({ tile, hashes }) => (tile.width === fullWidth ? [perfectRoot(hashes)] : []));
  }
  const byPath = new Map(tiles.map(({ tile, bytes }) => [tilePath(tile), bytes]));
  const root = await rootOf(async (tile) => byPath.get(tilePath(tile)) ?? readTile(tile), size);
  return { size, root, tiles };
}

interface WrittenHashes {
  readonly tile: HashTile;
  readonly hashes: readonly string[];
}

async function appendOn(
  readTile: ReadTile,
  level: number,
  oldSize: number,
  added: readonly string[],
): Promise<readonly WrittenHashes[]> {
  const first = Math.floor(oldSize / fullWidth ** (level + 1));
  const partial = tileIn(oldSize, level, first);
  const hashes = partial ? [...parseTile(await readTile(partial), partial.width), ...added] : added;
  return Array.from({ length: Math.ceil(hashes.length / fullWidth) }, (_, at) => {
    const part = hashes.slice(at * fullWidth, (at + 1) * fullWidth);
    return { tile: { level, index: first + at, width: part.length }, hashes: part };
  });
}
