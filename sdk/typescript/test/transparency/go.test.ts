/**
 * Go libraries read what this code makes, and this code reads what they make now. vectors.json has what they made before:
 * `go run . make > ../vectors.json && npx biome format --write ../vectors.json`
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runSync, succeedSync } from '../../../../test/support/child-process.ts';
import { skipWithout } from '../../../../test/support/harness.ts';
import { findProgram } from '../../../../test/support/programs.ts';
import { formatCheckpoint } from '../../src/transparency/checkpoint.ts';
import { cosign } from '../../src/transparency/cosignature.ts';
import { formatEntryBundle } from '../../src/transparency/entry-bundle.ts';
import { formatNote } from '../../src/transparency/note.ts';
import { proveConsistency, proveInclusion } from '../../src/transparency/prove.ts';
import { signNote } from '../../src/transparency/sign-note.ts';
import { bundlesBetween, fullWidth } from '../../src/transparency/tile.ts';
import { tilePath } from '../../src/transparency/tile-path.ts';
import { formatVerifierKey, signatureTypes } from '../../src/transparency/verifier-key.ts';
import { checkCheckpoint, checkPaths, checkTree, type TreeVector, type Vectors } from './go-vectors.ts';
import { entryOf, logOf, signerOf } from './support.ts';

const cwd = fileURLToPath(new URL('go', import.meta.url));
const go = (command: 'make' | 'read', input = '') =>
  runSync('go', ['run', '.', command], { cwd, input, timeout: 300_000 });

const withGo = (title: string, work: () => Promise<void> | void) =>
  it(title, { timeout: 600_000 }, (test: TestContext) =>
    findProgram('go') ? work() : skipWithout(test, 'go'),
  );

const log = signerOf('log.example.com:8443/log', signatureTypes.note, 1);
const witnesses = ['witness.example/w1', 'zeuge.example/ärger'].map((name, at) =>
  signerOf(name, signatureTypes.cosignature, 2 + at),
);

/** Base64, as encoding/json reads bytes. */
const encoded = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** A log that grew in these steps, as go/read.go reads it. */
async function madeLog(...steps: readonly number[]) {
  const { size, root, tiles, readTile } = await logOf(...steps);
  const text = formatCheckpoint({ origin: log.key.name, size, root });
  const times = [1_700_000_000, Number.MAX_SAFE_INTEGER];
  const cosignatures = witnesses.map((witness, at) => cosign(text, times[at] as number, witness));
  const signatures = [await signNote(text, log), ...(await Promise.all(cosignatures))];
  const bundleOf = ({ index, width }: { readonly index: number; readonly width: number }) =>
    formatEntryBundle(Array.from({ length: width }, (_, at) => entryOf(index * fullWidth + at)));
  const olds = [1, 2, 255, 256, 257, size - 1, size].filter((old) => old > 0 && old <= size);
  return {
    logKey: formatVerifierKey(log.key),
    witnesses: witnesses.map(({ key }) => formatVerifierKey(key)),
    checkpoint: formatNote({ text, signatures }),
    times,
    // The partial tiles of earlier steps are not of the tree.
    tiles: Object.fromEntries(
      [...(await logOf(size)).tiles.keys()].map((path) => [path, encoded(tiles.get(path) as Uint8Array)]),
    ),
    bundles: Object.fromEntries(
      [...bundlesBetween(0, size)].map((tile) => [tilePath(tile), encoded(bundleOf(tile))]),
    ),
    inclusion: await Promise.all(
      Array.from({ length: Math.min(size, 300) }, async (_, index) => ({
        index,
        proof: await proveInclusion(readTile, index, size),
      })),
    ),
    consistency: await Promise.all(
      olds.map(async (oldSize) => ({
        oldSize,
        oldRoot: (await logOf(oldSize)).root,
        proof: await proveConsistency(readTile, oldSize, size),
      })),
    ),
  };
}

describe('Go libraries', () => {
  withGo('vet: the program has no warnings', () => {
    assert.equal(succeedSync('gofmt', ['-l', '.'], { cwd }), '');
    succeedSync('go', ['vet', './...'], { cwd, timeout: 300_000 });
  });

  for (const steps of [[1], [7], [255, 1], [100, 157], [256, 256, 88], [1_000, 65_000]])
    withGo(`read a log that grew by ${steps.join(', ')} entries`, async () => {
      const { status, stdout, stderr } = go('read', JSON.stringify(await madeLog(...steps)));
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^checkpoint of log\.example\.com:8443\/log, size \d+, 2 cosignatures\n\d+ tiles/);
    });

  withGo('refuse a log with another hash in a tile, another time or another proof', async () => {
    const made = await madeLog(300);
    const [path] = Object.keys(made.tiles);
    const zeros = encoded(new Uint8Array(8192));
    const refused = {
      tile: { ...made, tiles: { ...made.tiles, [path as string]: zeros } },
      time: { ...made, times: [1, 2] },
      checkpoint: { ...made, checkpoint: made.checkpoint.replace('\n300\n', '\n301\n') },
      inclusion: { ...made, inclusion: [{ index: 5, proof: made.inclusion[6]?.proof }] },
      consistency: { ...made, consistency: [{ ...made.consistency[2], proof: made.consistency[1]?.proof }] },
    };
    for (const [name, each] of Object.entries(refused))
      assert.equal(go('read', JSON.stringify(each)).status, 1, name);
  });

  withGo('make the values of vectors.json, which differ in their times only', async () => {
    const { status, stdout, stderr } = go('make');
    assert.equal(status, 0, stderr);
    const made: Vectors = JSON.parse(stdout);
    const committed: Vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8'));
    const timeless = (vectors: Vectors) => ({
      ...vectors,
      trees: vectors.trees.map((tree: TreeVector) => ({
        ...tree,
        checkpoint: tree.checkpoint.split('\n\n')[0],
      })),
    });
    assert.deepEqual(timeless(made), timeless(committed));
    assert.equal(made.logKey, formatVerifierKey(log.key));
    assert.deepEqual(
      made.witnesses,
      witnesses.map(({ key }) => formatVerifierKey(key)),
    );
    for (const tree of made.trees) {
      await checkCheckpoint(made, tree);
      await checkTree(tree);
    }
    checkPaths(made);
  });
});
