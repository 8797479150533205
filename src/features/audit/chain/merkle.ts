/**
 * The Merkle tree over the checkpoints of a pass, with the hashes of RFC 9162 (section 2.1). Hashes are hexadecimal texts.
 * A node without a sibling moves up one level as it is, which gives the tree of the RFC.
 */
import { hash } from 'node:crypto';

/** The character 0 is the byte 0 in UTF-8. */
export const leafHash = (text: string): string => hash('sha256', `\0${text}`);

const hashDigits = 64;
const nodePrefix = Buffer.of(1);
/** The prefix and two hashes, for each node in turn. */
const nodeBytes = Buffer.alloc(1 + hashDigits, 1);

/** A proof that is verified may have parts that are no hashes: they would leave bytes of the node before. */
function nodeHash(left: string, right: string): string {
  const pair = left + right;
  const isPair = pair.length === 2 * hashDigits && nodeBytes.write(pair, 1, 'hex') === hashDigits;
  return hash('sha256', isPair ? nodeBytes : Buffer.concat([nodePrefix, Buffer.from(pair, 'hex')]));
}

export interface MerkleTree {
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

/** The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2); undefined when its length does not fit the tree. */
export function rootFrom(
  leaf: string,
  { leafIndex, treeSize, proof }: { leafIndex: number; treeSize: number; proof: readonly string[] },
): string | undefined {
  if (!Number.isInteger(leafIndex) || leafIndex < 0 || leafIndex >= treeSize) return undefined;
  let index = leafIndex;
  let last = treeSize - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0) return undefined;
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
