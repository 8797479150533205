import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generatedFiles } from '../scripts/generated.ts';

test('openapi.json and the generated docs say what the code does (npm run openapi writes them)', async () => {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    assert.equal(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'), text, `${path} is stale`);
  }
});
