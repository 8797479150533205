/** Verifies proofs of inclusion and consistency (RFC 9162, sections 2.1.3.2 and 2.1.4.2). */
import { nodeHash, rootFrom } from '../audit/merkle.ts';
import { isSize } from './decimal.ts';
import { isHash } from './hash.ts';

export interface Inclusion {
  readonly leafHash: string;
  readonly leafIndex: number;
  readonly size: number;
  readonly root: string;
  readonly proof: readonly string[];
}

export function verifyInclusion({ leafHash, leafIndex, size, root, proof }: Inclusion): boolean {
  if (!isSize(size) || !isHash(leafHash) || !isHash(root)) return false;
  return rootFrom(leafHash, { leafIndex, treeSize: size, proof }) === root;
}

export interface Consistency {
  readonly oldSize: number;
  readonly oldRoot: string;
  readonly newSize: number;
  readonly newRoot: string;
  readonly proof: readonly string[];
}

/** Every tree is consistent with the empty one, whose proof is empty. */
export function verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof }: Consistency): boolean {
  if (!isSize(oldSize) || !isSize(newSize) || oldSize > newSize) return false;
  if (![oldRoot, newRoot, ...proof].every(isHash)) return false;
  if (oldSize === newSize) return proof.length === 0 && oldRoot === newRoot;
  if (oldSize === 0) return proof.length === 0;
  const roots = rootsFrom(oldSize, newSize, isPowerOfTwo(oldSize) ? [oldRoot, ...proof] : proof);
  return roots?.old === oldRoot && roots.new === newRoot;
}

/** Climbs from the last leaf of the old tree to both roots at once. Undefined when the length does not fit the sizes. */
function rootsFrom(
  oldSize: number,
  newSize: number,
  [first, ...siblings]: readonly string[],
): { readonly old: string; readonly new: string } | undefined {
  if (first === undefined) return undefined;
  let node = oldSize - 1;
  let last = newSize - 1;
  const climb = () => {
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  };
  // The first hash is the largest perfect tree that ends with the old tree.
  while (node % 2 === 1) climb();
  let oldRoot = first;
  let newRoot = first;
  for (const sibling of siblings) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      oldRoot = nodeHash(sibling, oldRoot);
      newRoot = nodeHash(sibling, newRoot);
      // Levels on which the node had no sibling.
      while (node % 2 === 0 && node > 0) climb();
    } else newRoot = nodeHash(newRoot, sibling);
    climb();
  }
  return last === 0 ? { old: oldRoot, new: newRoot } : undefined;
}

function isPowerOfTwo(number: number): boolean {
  let rest = number;
  while (rest % 2 === 0) rest /= 2;
  return rest === 1;
}
