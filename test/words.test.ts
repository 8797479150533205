/** The words of texts that people read: pages, descriptions, messages and the console. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findOldWords, oldWordsIn } from './support/rules/word-rules.ts';

it('texts say API, plan and organization; older words are for the wire', () => {
  assert.deepEqual(findOldWords(new URL('../', import.meta.url)), []);
});

it('every kind of text is read', () => {
  assert.deepEqual(findOldWords(new URL('fixtures/broken-tree/', import.meta.url)), [
    'README.md: tenants in Two tenants share a plan of the .',
    'src/contract/words.ts: resource in There is no resource with this id.',
    'console/src/pages/two/TwoPage.tsx: Tier in Tier',
  ]);
});

for (const [text, found] of [
  ['Change a resource of the tenant', ['resource', 'tenant']],
  ['The resource server publishes protected resource metadata.', []],
  ['A multi-tenant instance needs the scope resources:write.', []],
  ['resource must be that of the request', []],
] as const)
  it(`${found.length} old words in: ${text}`, () => {
    assert.deepEqual(oldWordsIn(text), found);
  });
