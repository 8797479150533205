/** The tests of values that go/ makes: of the committed ones, and of those that it makes anew. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { judgeCheckpoint } from '../../src/transparency/judge-checkpoint.ts';
import { formatNote } from '../../src/transparency/note.ts';
import { proveConsistency, proveInclusion, rootOf } from '../../src/transparency/prove.ts';
import { type Tile, tilesOf } from '../../src/transparency/tile.ts';
import { parseTilePath, tilePath } from '../../src/transparency/tile-path.ts';
import { parseVerifierKey, signatureTypes } from '../../src/transparency/verifier-key.ts';
import { verifyConsistency, verifyInclusion } from '../../src/transparency/verify-proof.ts';
import { leavesOf, logOf } from './support.ts';

export interface TreeVector {
  readonly size: number;
  readonly root: string;
  readonly checkpoint: string;
  readonly tilesHash: string;
  readonly tiles?: Readonly<Record<string, string>>;
  readonly inclusion: readonly { readonly index: number; readonly proof: readonly string[] }[];
  readonly consistency: readonly {
    readonly oldSize: number;
    readonly oldRoot: string;
    readonly proof: readonly string[];
  }[];
}

export interface Vectors {
  readonly logKey: string;
  readonly witnesses: readonly string[];
  readonly trees: readonly TreeVector[];
  readonly paths: readonly {
    readonly level: number;
    readonly index: number;
    readonly width: number;
    readonly path: string;
  }[];
}

/** A checkpoint by note.Sign, with cosignatures by transparency-dev/formats. */
export async function checkCheckpoint({ logKey, witnesses }: Vectors, tree: TreeVector): Promise<void> {
  const policy = {
    logKey: parseVerifierKey(logKey, signatureTypes.note),
    witnesses: witnesses.map((each) => parseVerifierKey(each, signatureTypes.cosignature)),
    quorum: witnesses.length,
  };
  const { checkpoint, note, cosignatures, witnessedAt } = await judgeCheckpoint(tree.checkpoint, policy);
  assert.deepEqual(checkpoint, {
    origin: policy.logKey.name,
    size: tree.size,
    root: tree.root,
    extensions: [],
  });
  assert.equal(cosignatures.length, witnesses.length);
  assert.ok(witnessedAt !== undefined && witnessedAt > Date.UTC(2026, 10) / 1000);
  assert.equal(formatNote(note), tree.checkpoint);
}

/** Root, tiles and proofs of tlog. */
export async function checkTree(tree: TreeVector): Promise<void> {
  const { size, root, inclusion, consistency } = tree;
  const log = await logOf(size);
  assert.equal(log.root, root);
  assert.equal(await rootOf(log.readTile, size), root);
  const lines = [...tilesOf(size)].map((tile) => {
    const bytes = log.tiles.get(tilePath(tile)) as Uint8Array;
    return `${tilePath(tile)} ${createHash('sha256').update(bytes).digest('hex')}\n`;
  });
  assert.equal(createHash('sha256').update(lines.join('')).digest('hex'), tree.tilesHash);
  for (const [path, bytes] of Object.entries(tree.tiles ?? {}))
    assert.equal(Buffer.from(log.tiles.get(path) as Uint8Array).toString('base64'), bytes, path);
  const leaves = leavesOf(size);
  for (const { index, proof } of inclusion) {
    assert.deepEqual(await proveInclusion(log.readTile, index, size), proof);
    assert.ok(verifyInclusion({ leafHash: leaves[index] as string, leafIndex: index, size, root, proof }));
  }
  for (const { oldSize, oldRoot, proof } of consistency) {
    assert.deepEqual(await proveConsistency(log.readTile, oldSize, size), proof);
    assert.ok(verifyConsistency({ oldSize, oldRoot, newSize: size, newRoot: root, proof }));
  }
}

/** Paths of tlog and of tessera. */
export function checkPaths({ paths }: Vectors): void {
  for (const { level, index, width, path } of paths) {
    const tile = { level: level < 0 ? 'entries' : level, index, width } as Tile;
    assert.equal(tilePath(tile), path);
    assert.deepEqual(parseTilePath(path), tile);
  }
}
