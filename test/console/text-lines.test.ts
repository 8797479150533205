/** The lines of text from tenants, as the console shows them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beginningOf, withoutGaps } from '../../console/src/components/text-lines.ts';

describe('withoutGaps', () => {
  const cases: [what: string, text: string, shown: string][] = [
    ['one line', 'Reads invoices.', 'Reads invoices.'],
    ['paragraphs', 'One.\n\nTwo.\nThree.', 'One.\n\nTwo.\nThree.'],
    ['180 empty lines', `Verified${'\n'.repeat(180)}by us`, 'Verified\n\nby us'],
    ['lines of spaces', 'a\n \n\t\n \u00a0\nb', 'a\n\nb'],
    ['lines of fillers', 'a\n\u2800\n\u3164\n\u200d\n\u115f\u1160\nb', 'a\n\nb'],
    ['empty lines at both ends', '\n\n\na\n\n\n', 'a'],
    ['indented code', '  a\n    b', '  a\n    b'],
    ['nothing but gaps', '\n \n\u2800\n', ''],
  ];
  for (const [what, text, shown] of cases) it(what, () => assert.equal(withoutGaps(text), shown));
});

describe('beginningOf', () => {
  it('is the text itself when it is short', () => {
    assert.equal(beginningOf('a\nb\nc\nd\ne\nf'), 'a\nb\nc\nd\ne\nf');
  });
  it('ends after six lines', () => {
    assert.equal(beginningOf('a\nb\nc\nd\ne\nf\ng'), 'a\nb\nc\nd\ne\nf…');
  });
  it('ends after 300 characters', () => {
    assert.equal(beginningOf('x'.repeat(301)), `${'x'.repeat(300)}…`);
  });
});
