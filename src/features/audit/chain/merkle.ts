/**
 * The Merkle tree over the checkpoints of a pass. A node without a sibling moves up one level as it is, which gives the tree of
 * RFC 9162.
 */
import { nodeHash } from '../../../../sdk/typescript/src/audit/merkle.ts';

export { leafHash, rootFrom } from '../../../../sdk/typescript/src/audit/merkle.ts';

interface MerkleTree {
  readonly root: string;
  /** The inclusion proof of each leaf: the siblings from the leaf up to the root, joined. */
  readonly proofs: readonly string[];
}

/** Of at least one leaf. */
export function createMerkleTree(leaves: readonly string[]): MerkleTree {
  const levels = [leaves];
  for (let level = leaves; level.length > 1; ) {
    const above: string[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const left = level[index] as string;
      const right = level[index + 1];
      above.push(right === undefined ? left : nodeHash(left, right));
    }
    levels.push(above);
    level = above;
  }
  // From the root down: the proof of a node is its sibling, followed by the proof of its parent.
  let proofs = [''];
  for (const level of levels.slice(0, -1).reverse())
    proofs = level.map((_, index) => (level[index ^ 1] ?? '') + proofs[index >> 1]);
  return { root: levels.at(-1)?.[0] as string, proofs };
}

/** The nodes of a joined proof. */
export const splitProof = (proof: string): string[] => proof.match(/.{1,64}/g) ?? [];
