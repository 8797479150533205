/**
 * Tiles (C2SP tlog-tiles): 256 hashes of 32 bytes each, of every eighth level of the tree; and entry bundles, the entries of the
 * leaves of a tile of level 0. This file says which tiles a tree has, and where a hash is in them.
 */
import { isSize } from './decimal.ts';
import { TransparencyError } from './errors.ts';

export const fullWidth = 256;
export const tileHeight = 8;

export interface HashTile {
  readonly level: number;
  readonly index: number;
  /** The number of hashes: 256, or fewer in a partial tile. */
  readonly width: number;
}

export interface EntryTile {
  readonly level: 'entries';
  readonly index: number;
  readonly width: number;
}

export type Tile = HashTile | EntryTile;

/** The number of hashes on a level of the tiles. */
const hashesOn = (level: number, size: number) => Math.floor(size / fullWidth ** level);

/** The tile as the tree of this size has it; undefined when it has none there. */
export function tileIn(size: number, level: number, index: number): HashTile | undefined {
  const width = Math.min(fullWidth, hashesOn(level, size) - index * fullWidth);
  return width > 0 ? { level, index, width } : undefined;
}

/** True when the tree of this size has the tile with exactly this width. */
export const hasTile = (size: number, { level, index, width }: Tile): boolean =>
  tileIn(size, level === 'entries' ? 0 : level, index)?.width === width;

/** The tiles that a tree has and that it did not have at an earlier size, level by level. */
export function* tilesBetween(oldSize: number, newSize: number): Generator<HashTile> {
  checkGrowth(oldSize, newSize);
  for (let level = 0; hashesOn(level, newSize) > 0; level += 1) yield* tilesOn(level, oldSize, newSize);
}

/** All tiles of a tree. */
export const tilesOf = (size: number): Generator<HashTile> => tilesBetween(0, size);

/** The entry bundles that a tree has and that it did not have at an earlier size. */
export function* bundlesBetween(oldSize: number, newSize: number): Generator<EntryTile> {
  checkGrowth(oldSize, newSize);
  for (const tile of tilesOn(0, oldSize, newSize)) yield { ...tile, level: 'entries' };
}

function* tilesOn(level: number, oldSize: number, newSize: number): Generator<HashTile> {
  const before = hashesOn(level, oldSize);
  const now = hashesOn(level, newSize);
  if (before === now) return;
  for (let index = Math.floor(before / fullWidth); index * fullWidth < now; index += 1)
    yield tileIn(newSize, level, index) as HashTile;
}

function checkGrowth(oldSize: number, newSize: number): void {
  if (!isSize(oldSize) || !isSize(newSize) || oldSize > newSize)
    throw new TransparencyError('OUT_OF_RANGE', 'the sizes of a tree that grows');
}

export interface HashPlace {
  readonly level: number;
  readonly index: number;
  /** The hashes of the tile from `start` to before `end`: the hash is the root of the perfect tree over them. */
  readonly start: number;
  readonly end: number;
}

/** Where the hash of a node is. Level 0 of the tree has the leaves. */
export function placeOf(treeLevel: number, nodeIndex: number): HashPlace {
  const level = Math.floor(treeLevel / tileHeight);
  const leaves = 2 ** (treeLevel % tileHeight);
  const first = nodeIndex * leaves;
  const start = first % fullWidth;
  return { level, index: Math.floor(first / fullWidth), start, end: start + leaves };
}
