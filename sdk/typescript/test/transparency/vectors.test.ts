/** Values that Go libraries have made (go/): golang.org/x/mod, transparency-dev/formats and transparency-dev/tessera. */
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { checkCheckpoint, checkPaths, checkTree, type Vectors } from './go-vectors.ts';

const vectors: Vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8'));

describe('values of Go libraries', () => {
  for (const tree of vectors.trees) {
    it(`a cosigned checkpoint of size ${tree.size}`, () => checkCheckpoint(vectors, tree));
    it(`the root, tiles and proofs of ${tree.size} entries`, () => checkTree(tree));
  }
  it('the paths of tiles and bundles', () => checkPaths(vectors));
});
