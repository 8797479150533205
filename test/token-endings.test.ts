/**
 * Sentences about the end of tokens. An ended token ends at once for introspection only: an API with signals refuses it within a second, and one
 * that only verifies tokens offline accepts it until it expires. So a sentence of the console, the docs or the API that says "at once" names introspection, and the console and the
 * guides give the time that is left offline.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { offlineVerificationNote } from '../console/src/components/offline-verification.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = (...patterns: string[]) => globSync(patterns, { cwd: root }).sort();
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Of prose, JSX and JSON: a sentence ends with a full stop, a semicolon, a cell of a table, a quotation mark or a paragraph. */
const sentencesOf = (text: string): string[] =>
  text
    .replaceAll("{' '}", ' ')
    .split(/\n\s*\n|(?<=[.;])\s|[|"`]|\\n/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim());

const saysThatTokensEnd = (sentence: string): boolean =>
  /\btokens?\b/i.test(sentence) &&
  /\bends?\b/.test(sentence) &&
  /\bat once\b|\bat the same moment\b|\bimmediately\b/.test(sentence) &&
  // "The old secret ends at once, tokens stay valid."
  !/\bstay valid\b/.test(sentence);

describe('sentences about the end of tokens', () => {
  const sources = files(
    'README.md',
    'SECURITY.md',
    'openapi.json',
    'docs/**/*.md',
    'sdk/*/README.md',
    'console/src/**/*.{ts,tsx}',
  )
    // It quotes titles of tests.
    .filter((file) => !file.startsWith('docs/evidence/'));

  it('finds such sentences', () => {
    const found = sources.flatMap((file) => sentencesOf(read(file)).filter(saysThatTokensEnd));
    assert.ok(found.length > 10, `${found.length} sentences`);
  });

  it('name introspection where they say that tokens end at once', () => {
    const problems = sources.flatMap((file) =>
      sentencesOf(read(file))
        .filter((sentence) => saysThatTokensEnd(sentence) && !sentence.includes('introspection'))
        .map((sentence) => `${file}: ${sentence}`),
    );
    assert.deepEqual(problems, []);
  });

  it('come in the console with the time that is left offline', () => {
    const pages = files('console/src/pages/**/*.tsx').filter((file) =>
      sentencesOf(read(file)).some((sentence) => /\bends?\b.*\bfor introspection\b/.test(sentence)),
    );
    assert.ok(pages.length >= 5, pages.join());
    assert.deepEqual(
      pages.filter((file) => !/\{offlineVerificationNote\(/.test(read(file))),
      [],
    );
    assert.match(
      offlineVerificationNote(),
      /with signals refuses them within a second\. .*offline accepts them until they expire: at most the API's token lifetime later/,
    );
    assert.match(offlineVerificationNote(1_800), /at most 1,800 seconds later/);
  });

  it('come in the guides with the time that is left offline', () => {
    const guides = files('docs/concepts.md', 'docs/guides/*.md').filter((file) =>
      sentencesOf(read(file)).some(saysThatTokensEnd),
    );
    assert.ok(guides.length >= 4, guides.join());
    assert.deepEqual(
      guides.filter((file) => !/offline[^.]*?(?:accepts|accept)[^.]*?until[^.]*?expires?/is.test(read(file))),
      [],
    );
  });
});
