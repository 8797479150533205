/** Reads hashes of a tree from its tiles. */
import { nodeHash } from '../audit/merkle.ts';
import { TransparencyError } from './errors.ts';
import { emptyRoot } from './hash.ts';
import { type HashTile, placeOf, tileIn } from './tile.ts';
import { parseTile, perfectRoot } from './tile-hashes.ts';

/** The bytes of a tile, with exactly its width. It may reject. */
export type ReadTile = (tile: HashTile) => Promise<Uint8Array>;

/** The hash of the leaves from `start` to before `end`, where `start` is a multiple of a power of two not below their number. */
export type ReadRange = (start: number, end: number) => Promise<string>;

/** Asks for each tile once. The hashes are not proven: compare the root, or verify the proof, that they give. */
export function createRangeReader(readTile: ReadTile, size: number): ReadRange {
  const tiles = new Map<string, Promise<readonly string[]>>();

  const hashesOf = (level: number, index: number): Promise<readonly string[]> => {
    const name = `${level}/${index}`;
    const known = tiles.get(name);
    if (known) return known;
    const tile = tileIn(size, level, index);
    if (!tile) throw new TransparencyError('OUT_OF_RANGE', `a tree of size ${size} has no tile ${name}`);
    const read = readTile(tile).then((bytes) => parseTile(bytes, tile.width));
    tiles.set(name, read);
    return read;
  };

  const readNode = async ({ level: treeLevel, index: nodeIndex }: Node): Promise<string> => {
    const { level, index, start, end } = placeOf(treeLevel, nodeIndex);
    return perfectRoot((await hashesOf(level, index)).slice(start, end));
  };

  return async (start, end) => {
    const hashes = await Promise.all(perfectTrees(start, end).map(readNode));
    return hashes.length === 0 ? emptyRoot : hashes.reduceRight((right, left) => nodeHash(left, right));
  };
}

interface Node {
  readonly level: number;
  readonly index: number;
}

/** The perfect trees that a range consists of, the largest first. */
function perfectTrees(start: number, end: number): readonly Node[] {
  const nodes: Node[] = [];
  for (let at = start; at < end; ) {
    const level = log2(end - at);
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** The largest level whose perfect tree has at most this number of leaves. Math.log2 rounds large numbers up. */
export function log2(leaves: number): number {
  let level = 0;
  while (2 ** (level + 1) <= leaves) level += 1;
  return level;
}
