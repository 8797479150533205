import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createMerkleTree, leafHash, rootFrom, splitProof } from './merkle.ts';

/** RFC 9162, section 2.1.1 and 2.1.3.1, word for word. */
const sha = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const splitOf = (count: number): number => 2 ** (Math.ceil(Math.log2(count)) - 1);
function treeHash(leaves: readonly string[]): Buffer {
  if (leaves.length === 1) return sha(Buffer.of(0), Buffer.from(leaves[0] as string));
  const split = splitOf(leaves.length);
  return sha(Buffer.of(1), treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)));
}
function pathOf(index: number, leaves: readonly string[]): Buffer[] {
  if (leaves.length === 1) return [];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...pathOf(index, left), treeHash(right)]
    : [...pathOf(index - split, right), treeHash(left)];
}

const leavesOf = (count: number) => Array.from({ length: count }, (_, index) => `leaf ${index}`);
function treeOf(leaves: readonly string[]) {
  const { root, proofs } = createMerkleTree(leaves.map(leafHash));
  return { root, proofOf: (index: number) => splitProof(proofs[index] as string) };
}

/** The proofs of an attacker may hold any text. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udc00', 'é', '\0', 'a') }),
);
const anyHash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));

describe('the hashes', () => {
  it('of a leaf are those of the RFC, for any text', () => {
    fc.assert(
      fc.property(anyText, (text) =>
        assert.equal(leafHash(text), sha(Buffer.of(0), Buffer.from(text)).toString('hex')),
      ),
    );
  });

  it('of a node are those of the RFC', () => {
    fc.assert(
      fc.property(anyHash, anyHash, (left, right) => {
        const plain = sha(Buffer.of(1), Buffer.from(left + right, 'hex')).toString('hex');
        assert.equal(rootFrom(left, { leafIndex: 0, treeSize: 2, proof: [right] }), plain);
      }),
    );
  });

  it('a proof with texts that are no hashes leads to no root', () => {
    const other = fc.oneof(
      anyText,
      anyHash.map((text) => text.slice(1)),
      anyHash.map((text) => `${text}0`),
      anyHash.map((text) => `${text.slice(1)}g`),
      anyHash.map((text) => `${text.slice(1)}A`),
    );
    fc.assert(
      fc.property(anyHash, other, (left, right) =>
        assert.equal(rootFrom(left, { leafIndex: 0, treeSize: 2, proof: [right] }), undefined),
      ),
    );
  });
});

describe('the tree', () => {
  it('has the root and the proofs of the RFC, for 1 to 33 leaves', () => {
    for (let count = 1; count <= 33; count += 1) {
      const leaves = leavesOf(count);
      const tree = treeOf(leaves);
      assert.equal(tree.root, treeHash(leaves).toString('hex'));
      for (let index = 0; index < count; index += 1) {
        const proof = tree.proofOf(index);
        assert.deepEqual(
          proof,
          pathOf(index, leaves).map((node) => node.toString('hex')),
          `${index} of ${count}`,
        );
        const root = rootFrom(leafHash(leaves[index] as string), {
          leafIndex: index,
          treeSize: count,
          proof,
        });
        assert.equal(root, tree.root, `${index} of ${count}`);
      }
    }
  });

  it('a proof leads to the root for its own leaf, place and length only', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(), fc.nat(), (count, one, other) => {
        const leaves = leavesOf(count);
        const tree = treeOf(leaves);
        const leafIndex = one % count;
        const leaf = leafHash(leaves[leafIndex] as string);
        const proof = tree.proofOf(leafIndex);
        const place = { leafIndex, treeSize: count, proof };
        assert.equal(rootFrom(leaf, place), tree.root);
        assert.notEqual(rootFrom(leafHash('another'), place), tree.root);
        assert.notEqual(rootFrom(leaf, { ...place, proof: [...proof, leaf] }), tree.root);
        if (proof.length > 0) {
          assert.notEqual(rootFrom(leaf, { ...place, proof: proof.slice(1) }), tree.root);
          assert.notEqual(
            rootFrom(leaf, { ...place, proof: proof.with(other % proof.length, leaf) }),
            tree.root,
          );
        }
        for (const wrong of [-1, count, 0.5, Number.NaN])
          assert.equal(rootFrom(leaf, { ...place, leafIndex: wrong }), undefined);
      }),
      { numRuns: 200 },
    );
  });
});
