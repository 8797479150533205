import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { toWebsearchQuery } from './search-query.ts';

const t = await startApp();

describe('toWebsearchQuery', () => {
  it('keeps words, phrases, exclusions and or', () => {
    const cases: Record<string, string> = {
      'invoice reader': 'invoice reader',
      '"invoice reader" -slow or fast': '"invoice reader" -slow or fast',
      '-"two words"': '-"two words"',
      'e-mail': '"e mail"',
      '---x': '-x',
      '- x': 'x',
      '"open': 'open',
      '""': '',
      '-': '',
    };
    for (const [typed, read] of Object.entries(cases)) assert.equal(toWebsearchQuery(typed), read, typed);
    assert.equal(toWebsearchQuery('a '.repeat(100)).split(' ').length, 30);
  });

  it('200 for arbitrary input', async () => {
    const alphabet = fc.constantFrom(
      '-',
      '"',
      ' ',
      'or',
      'a',
      'and',
      '!',
      '(',
      ')',
      '&',
      '|',
      ':*',
      "'",
      '\\',
      '<->',
      'ü',
      '😀',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(alphabet, { maxLength: 60 }), async (parts) => {
        const q = encodeURIComponent([...parts.join('')].slice(0, 190).join(''));
        const answer = await t.call('GET', `/api/v1/marketplace/agents?q=${q}`);
        assert.equal(answer.status, 200, answer.text);
      }),
      { numRuns: 400 },
    );
  });
});
