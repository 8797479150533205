/** The root of a tree, and its proofs (RFC 6962, section 2.1), from its tiles. */
import { isSize } from './decimal.ts';
import { TransparencyError } from './errors.ts';
import { createRangeReader, log2, type ReadTile } from './read-hashes.ts';

/** Leaves from the first to before the second. */
type Range = readonly [number, number];

export async function rootOf(readTile: ReadTile, size: number): Promise<string> {
  check(isSize(size), 'the size');
  return createRangeReader(readTile, size)(0, size);
}

/** The audit path of a leaf, from the leaf up. */
export async function proveInclusion(
  readTile: ReadTile,
  leafIndex: number,
  size: number,
): Promise<readonly string[]> {
  check(isSize(size) && isSize(leafIndex) && leafIndex < size, 'the index of the leaf');
  return readAll(readTile, size, inclusionRanges(leafIndex, 0, size));
}

/** The proof that the tree had the leaves of its earlier size. Empty for the sizes zero and `newSize`. */
export async function proveConsistency(
  readTile: ReadTile,
  oldSize: number,
  newSize: number,
): Promise<readonly string[]> {
  check(isSize(oldSize) && isSize(newSize) && oldSize <= newSize, 'the earlier size');
  const ranges = oldSize === 0 ? [] : consistencyRanges(oldSize, 0, newSize, true);
  return readAll(readTile, newSize, ranges);
}

function check(isInRange: boolean, what: string): void {
  if (!isInRange) throw new TransparencyError('OUT_OF_RANGE', `${what} is not in the tree`);
}

function readAll(readTile: ReadTile, size: number, ranges: readonly Range[]): Promise<readonly string[]> {
  const read = createRangeReader(readTile, size);
  return Promise.all(ranges.map(([start, end]) => read(start, end)));
}

/** Where a tree of two or more leaves divides: at the largest power of two below their number. */
const middleOf = (start: number, end: number) => start + 2 ** log2(end - start - 1);

/** PATH of RFC 6962. */
function inclusionRanges(leaf: number, start: number, end: number): readonly Range[] {
  if (end - start === 1) return [];
  const middle = middleOf(start, end);
  return leaf < middle
    ? [...inclusionRanges(leaf, start, middle), [middle, end]]
    : [...inclusionRanges(leaf, middle, end), [start, middle]];
}

/** SUBPROOF of RFC 6962. `isKnown`: the verifier has the hash of this part as the root of the earlier tree. */
function consistencyRanges(oldEnd: number, start: number, end: number, isKnown: boolean): readonly Range[] {
  if (oldEnd === end) return isKnown ? [] : [[start, end]];
  const middle = middleOf(start, end);
  return oldEnd <= middle
    ? [...consistencyRanges(oldEnd, start, middle, isKnown), [middle, end]]
    : [...consistencyRanges(oldEnd, middle, end, false), [start, middle]];
}
