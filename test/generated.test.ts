import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generatedFiles } from '../scripts/generated.ts';

test('openapi.json and the generated docs match the code (npm run openapi writes them)', async () => {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    assert.equal(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'), text, `${path} is stale`);
  }
});

test('the operations of the Python SDK have no modules but those that are generated', async () => {
  const folder = 'sdk/python/src/countersign/api/';
  const generated = Object.keys(await generatedFiles()).filter((path) => path.startsWith(folder));
  const files = globSync('*.py', { cwd: new URL(`../${folder}`, import.meta.url) });
  assert.deepEqual(files.map((file) => folder + file).sort(), generated.sort());
});

test('openapi.json does not require a field that has a default', async () => {
  const { 'openapi.json': text = '' } = await generatedFiles();
  const demanded: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { required, properties = {} } = node as { required?: unknown; properties?: Record<string, object> };
    for (const name of Array.isArray(required) ? required : [])
      if ('default' in (properties[name] ?? {})) demanded.push(`${path}.${name}`);
    for (const [key, inner] of Object.entries(node)) visit(inner, `${path}.${key}`);
  };
  visit(JSON.parse(text), 'openapi');
  assert.match(text, /"default"/);
  assert.deepEqual(demanded, []);
});
