/** The lists of test/support/selection.ts name files that exist: a renamed file would silently change its place in a run. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { listedFiles } from './support/selection.ts';

test('every listed test file exists', () => {
  assert.deepEqual(
    listedFiles.filter((file) => !existsSync(new URL(`../${file}`, import.meta.url))),
    [],
  );
});
