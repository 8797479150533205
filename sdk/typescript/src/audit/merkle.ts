/** Merkle trees with the hashes of RFC 9162 (section 2.1). Hashes are hexadecimal texts. */
import { sha256 } from './sha256.ts';

/** The character 0 is the byte 0 in UTF-8. */
export const leafHash = (text: string): string => sha256(`\0${text}`);

/** The prefix 1 and two hashes, for each node in turn. */
const nodeBytes = new Uint8Array(65).fill(1);

/** Of two hashes. */
export function nodeHash(left: string, right: string): string {
  writeHash(left, 1);
  writeHash(right, 33);
  return sha256(nodeBytes);
}

function writeHash(hash: string, start: number): void {
  for (let at = 0; at < 32; at += 1)
    nodeBytes[start + at] = (digit(hash.charCodeAt(2 * at)) << 4) | digit(hash.charCodeAt(2 * at + 1));
}

/** The value of 0 to 9 and a to f. */
const digit = (code: number): number => (code < 58 ? code - 48 : code - 87);

export interface Proof {
  readonly leafIndex: number;
  readonly treeSize: number;
  readonly proof: readonly string[];
}

const isHash = /^[0-9a-f]{64}$/;

/**
 * The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2); undefined when it has parts that are no
 * hashes, or its length does not fit the tree.
 */
export function rootFrom(leaf: string, { leafIndex, treeSize, proof }: Proof): string | undefined {
  if (!Number.isInteger(leafIndex) || leafIndex < 0 || leafIndex >= treeSize) return undefined;
  let index = leafIndex;
  let last = treeSize - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0 || !isHash.test(sibling)) return undefined;
    if (index % 2 === 1 || index === last) {
      root = nodeHash(sibling, root);
      // Levels on which the node had no sibling.
      while (index % 2 === 0 && index > 0) {
        index = Math.floor(index / 2);
        last = Math.floor(last / 2);
      }
    } else root = nodeHash(root, sibling);
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? root : undefined;
}
