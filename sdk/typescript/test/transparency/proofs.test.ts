/** Roots and proofs from tiles, against a tree that is computed as RFC 6962 defines it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { repetitions } from '../../../../test/support/repetitions.ts';
import { nodeHash } from '../../src/audit/merkle.ts';
import { appendLeaves } from '../../src/transparency/append-leaves.ts';
import { emptyRoot, entryHash } from '../../src/transparency/hash.ts';
import { proveConsistency, proveInclusion, rootOf } from '../../src/transparency/prove.ts';
import type { ReadTile } from '../../src/transparency/read-hashes.ts';
import { tilesOf } from '../../src/transparency/tile.ts';
import { formatTile } from '../../src/transparency/tile-hashes.ts';
import { tilePath } from '../../src/transparency/tile-path.ts';
import { verifyConsistency, verifyInclusion } from '../../src/transparency/verify-proof.ts';
import { bitChanges, entriesOf, entryOf, leavesOf, logOf, naiveRoot, refusal } from './support.ts';

const rootAt = (size: number) => naiveRoot(entriesOf(size)).toString('hex');
const leafAt = (index: number) => entryHash(entryOf(index));
const flipped = (hash: string): readonly string[] =>
  [...bitChanges(Buffer.from(hash, 'hex'))].map((each) => Buffer.from(each).toString('hex'));

/** Sizes around powers of two and widths of tiles are as frequent as others. */
const sizes = fc.oneof(
  fc.nat(700),
  fc.tuple(fc.nat(9), fc.integer({ min: -1, max: 1 })).map(([power, more]) => 2 ** power + more),
);

describe('a tree of tiles', () => {
  it('has the root and the tiles of its size, however it grew', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { minLength: 1, maxLength: 4 }), async (steps) => {
        const log = await logOf(...steps);
        assert.equal(log.root, rootAt(log.size));
        assert.equal(await rootOf(log.readTile, log.size), log.root);
        const whole = await logOf(log.size);
        for (const tile of tilesOf(log.size)) {
          const path = tilePath(tile);
          assert.deepEqual(log.tiles.get(path), whole.tiles.get(path), path);
        }
      }),
      { numRuns: repetitions(25, 300) },
    );
  });

  it('without entries has the root of no bytes', async () => {
    const log = await logOf(0);
    assert.deepEqual([log.size, log.root, log.tiles.size], [0, emptyRoot, 0]);
    assert.equal(emptyRoot, rootAt(0));
  });

  it('reads the partial tiles at its end and nothing else when it grows', async () => {
    const { readTile } = await logOf(600);
    const read: string[] = [];
    const recording: ReadTile = (tile) => {
      read.push(tilePath(tile));
      return readTile(tile);
    };
    const grown = await appendLeaves(recording, 600, leavesOf(601).slice(600));
    assert.deepEqual([...new Set(read)].sort(), ['tile/0/002.p/88', 'tile/1/000.p/2']);
    assert.deepEqual(
      grown.tiles.map(({ tile }) => tilePath(tile)),
      ['tile/0/002.p/89'],
    );
    assert.equal(grown.root, rootAt(601));
  });

  it('OUT_OF_RANGE: an index or a size that it does not have', async () => {
    const { readTile } = await logOf(5);
    const outside = refusal('OUT_OF_RANGE');
    for (const index of [-1, 5, 0.5, Number.NaN])
      await assert.rejects(proveInclusion(readTile, index, 5), outside);
    for (const size of [-1, 6, 0.5, Number.NaN])
      await assert.rejects(proveConsistency(readTile, size, 5), outside);
    for (const size of [-1, 0.5, 2 ** 53]) {
      await assert.rejects(rootOf(readTile, size), outside);
      await assert.rejects(appendLeaves(readTile, size, []), outside);
    }
  });

  it('TILE_MALFORMED: a tile of another width', async () => {
    const { readTile } = await logOf(600);
    const short: ReadTile = async (tile) => (await readTile(tile)).subarray(32);
    await assert.rejects(rootOf(short, 600), refusal('TILE_MALFORMED'));
    await assert.rejects(appendLeaves(short, 600, leavesOf(1)), refusal('TILE_MALFORMED'));
  });

  it('rejects with the error of a tile that cannot be read', async () => {
    const error = new Error('unreachable');
    await assert.rejects(
      proveInclusion(() => Promise.reject(error), 0, 600),
      error,
    );
  });
});

describe('an inclusion proof', () => {
  it('proves each leaf of a random tree, and no other leaf, index, size or root', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (most, seed) => {
        const size = most + 1;
        const leafIndex = seed % size;
        const { readTile } = await logOf(size);
        const root = rootAt(size);
        const proof = await proveInclusion(readTile, leafIndex, size);
        const right = { leafHash: leafAt(leafIndex), leafIndex, size, root, proof };
        assert.ok(verifyInclusion(right));
        assert.ok(!verifyInclusion({ ...right, leafHash: leafAt(size) }));
        assert.ok(!verifyInclusion({ ...right, root: rootAt(size + 1) }));
        assert.ok(!verifyInclusion({ ...right, proof: [...proof, root] }));
        if (proof.length > 0) assert.ok(!verifyInclusion({ ...right, proof: proof.slice(1) }));
        if (proof.length > 0) assert.ok(!verifyInclusion({ ...right, proof: proof.slice(0, -1) }));
        for (let other = 0; other < size; other += 1)
          assert.equal(verifyInclusion({ ...right, leafIndex: other }), other === leafIndex);
      }),
      { numRuns: repetitions(30, 300) },
    );
  });

  it('is refused with any bit changed', async () => {
    const { readTile, root } = await logOf(77);
    const proof = await proveInclusion(readTile, 70, 77);
    const right = { leafHash: leafAt(70), leafIndex: 70, size: 77, root, proof };
    assert.ok(verifyInclusion(right));
    for (const [at, hash] of proof.entries())
      for (const changed of flipped(hash))
        assert.ok(!verifyInclusion({ ...right, proof: proof.with(at, changed) }));
    for (const changed of flipped(root)) assert.ok(!verifyInclusion({ ...right, root: changed }));
    for (const changed of flipped(right.leafHash))
      assert.ok(!verifyInclusion({ ...right, leafHash: changed }));
  });

  it('is refused with numbers or texts that are none', () => {
    const leafHash = leafAt(0);
    const right = { leafHash, leafIndex: 0, size: 1, root: leafHash, proof: [] };
    assert.ok(verifyInclusion(right));
    for (const change of [
      { leafIndex: -1 },
      { leafIndex: 1 },
      { leafIndex: 0.5 },
      { size: 0 },
      { size: Number.NaN },
      { size: 1.5 },
      { size: 2 ** 53 },
      { leafHash: 'x', root: 'x' },
      { leafHash: leafHash.toUpperCase(), root: leafHash.toUpperCase() },
      { proof: [''] },
    ])
      assert.ok(!verifyInclusion({ ...right, ...change }), JSON.stringify(change));
  });
});

describe('a consistency proof', () => {
  it('proves any two sizes of a random tree, and no other sizes or roots', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (newSize, seed) => {
        const oldSize = seed % (newSize + 1);
        const { readTile } = await logOf(newSize);
        const proof = await proveConsistency(readTile, oldSize, newSize);
        const right = { oldSize, oldRoot: rootAt(oldSize), newSize, newRoot: rootAt(newSize), proof };
        assert.ok(verifyConsistency(right));
        assert.ok(!verifyConsistency({ ...right, proof: [...proof, right.newRoot] }));
        if (proof.length > 0) assert.ok(!verifyConsistency({ ...right, proof: proof.slice(1) }));
        if (proof.length > 0) assert.ok(!verifyConsistency({ ...right, proof: proof.slice(0, -1) }));
        if (oldSize === 0) return;
        assert.ok(!verifyConsistency({ ...right, oldRoot: rootAt(oldSize + 1) }));
        assert.ok(!verifyConsistency({ ...right, newRoot: rootAt(newSize + 1) }));
        for (let other = 1; other < newSize; other += 1)
          if (other !== oldSize) assert.ok(!verifyConsistency({ ...right, oldSize: other }), `${other}`);
      }),
      { numRuns: repetitions(30, 300) },
    );
  });

  it('is refused with any bit changed', async () => {
    const { readTile, root } = await logOf(77);
    for (const oldSize of [64, 70]) {
      const proof = await proveConsistency(readTile, oldSize, 77);
      const right = { oldSize, oldRoot: rootAt(oldSize), newSize: 77, newRoot: root, proof };
      assert.ok(verifyConsistency(right));
      for (const [at, hash] of proof.entries())
        for (const changed of flipped(hash))
          assert.ok(!verifyConsistency({ ...right, proof: proof.with(at, changed) }));
      for (const changed of flipped(root)) assert.ok(!verifyConsistency({ ...right, newRoot: changed }));
      for (const changed of flipped(right.oldRoot))
        assert.ok(!verifyConsistency({ ...right, oldRoot: changed }));
    }
  });

  it('is empty for one size, whose root is one, and for the size zero', () => {
    const [one, two] = [rootAt(1), rootAt(2)];
    const of = (oldSize: number, oldRoot: string, newSize: number, newRoot: string, ...proof: string[]) =>
      verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof });
    assert.ok(of(2, two, 2, two));
    assert.ok(!of(2, one, 2, two));
    assert.ok(!of(2, two, 2, two, two));
    assert.ok(of(0, emptyRoot, 2, two));
    assert.ok(!of(0, emptyRoot, 2, two, two));
    assert.ok(!of(1, one, 2, two));
  });

  it('is refused for a smaller log, and for numbers or texts that are none', () => {
    const right = { oldSize: 1, oldRoot: rootAt(1), newSize: 2, newRoot: rootAt(2), proof: [leafAt(1)] };
    assert.ok(verifyConsistency(right));
    for (const change of [
      { oldSize: 3 },
      { oldSize: -1 },
      { oldSize: 1.5 },
      { newSize: 2.5 },
      { newSize: 2 ** 53 },
      { newSize: Number.NaN },
      { proof: [leafAt(1).toUpperCase()] },
      { proof: ['x'] },
      { oldRoot: '' },
    ])
      assert.ok(!verifyConsistency({ ...right, ...change }), JSON.stringify(change));
  });
});

describe('a changed tile', () => {
  it('gives another root, or proofs that are refused, whichever bit it is', async () => {
    const { size, root, tiles, readTile } = await logOf(260);
    const leaves = [3, 259];
    const proofs = await Promise.all(leaves.map((leaf) => proveInclusion(readTile, leaf, size)));
    // Each bit of a hash, in turn of each hash of the full tile.
    const step = (bytes: Uint8Array) => (bytes.length < 8192 ? 1 : repetitions(1021, 257));
    for (const [path, bytes] of tiles)
      for (const changed of [...bitChanges(bytes)].filter((_, bit) => bit % step(bytes) === 0)) {
        const readChanged: ReadTile = async (tile) => (tilePath(tile) === path ? changed : readTile(tile));
        // The root is that of the partial tiles; a full tile is below its hash in the tile above.
        if (path !== 'tile/0/000') assert.notEqual(await rootOf(readChanged, size), root);
        for (const [at, leafIndex] of leaves.entries()) {
          const proof = await proveInclusion(readChanged, leafIndex, size);
          const isValid = verifyInclusion({ leafHash: leafAt(leafIndex), leafIndex, size, root, proof });
          assert.equal(isValid, proof.join() === proofs[at]?.join());
        }
      }
  });
});

describe('trees up to the largest exact size', () => {
  /** All leaves are equal, so all perfect trees of a height are. */
  const perfect = Array.from({ length: 54 }, () => '');
  perfect[0] = leafAt(0);
  for (let level = 1; level < perfect.length; level += 1)
    perfect[level] = nodeHash(perfect[level - 1] as string, perfect[level - 1] as string);
  const readTile: ReadTile = async ({ level, width }) =>
    formatTile(Array.from({ length: width }, () => perfect[8 * level] as string));
  const large = fc.oneof(
    fc.maxSafeNat(),
    fc
      .tuple(fc.integer({ min: 1, max: 52 }), fc.integer({ min: -1, max: 1 }))
      .map(([power, more]) => 2 ** power + more),
    fc.constant(Number.MAX_SAFE_INTEGER),
  );

  it('have proofs', async () => {
    await fc.assert(
      fc.asyncProperty(large, large, async (a, b) => {
        const [oldSize, newSize] = [Math.min(a, b), Math.max(a, b)];
        const [oldRoot, newRoot] = [await rootOf(readTile, oldSize), await rootOf(readTile, newSize)];
        const consistency = await proveConsistency(readTile, oldSize, newSize);
        assert.ok(consistency.length <= 54);
        assert.ok(verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof: consistency }));
        if (oldSize === newSize) return;
        const proof = await proveInclusion(readTile, oldSize, newSize);
        const leafHash = perfect[0] as string;
        assert.ok(verifyInclusion({ leafHash, leafIndex: oldSize, size: newSize, root: newRoot, proof }));
      }),
      { numRuns: repetitions(20, 300) },
    );
  });

  it('grow', async () => {
    const size = Number.MAX_SAFE_INTEGER;
    const grown = await appendLeaves(
      readTile,
      size - 600,
      Array.from({ length: 600 }, () => perfect[0] as string),
    );
    assert.equal(grown.size, size);
    assert.equal(grown.root, await rootOf(readTile, size));
  });
});
