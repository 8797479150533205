/** Invisible characters in the text of tenants, as the console shows them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { visibleText } from '../../console/src/components/visible-text.ts';

describe('visibleText', () => {
  const cases: [what: string, text: string, shown: string][] = [
    ['plain text', 'Résumé reader №1\tb\n', 'Résumé reader №1\tb\n'],
    ['a bidirectional control', 'a\u202eb', 'a␣b'],
    ['fillers', 'pay\u3164\u115f\u1160\uffa0\u2800\u034fments', 'pay␣␣␣␣␣␣ments'],
    ['selectors after a letter', 'pay\ufe0fments\u{e0101}', 'pay␣ments␣'],
    ['tags', 'a\u{e0041}', 'a␣'],
    ['joiners between Latin letters', 'pay\u200dme\u200cnts', 'pay␣me␣nts'],
    ['a joiner at the beginning', '\u200da', '␣a'],
    ['a joiner in Persian', 'می\u200cخواهم', 'می\u200cخواهم'],
    ['a joiner in Hindi', 'क्\u200dष', 'क्\u200dष'],
    ['emoji', '👩🏽\u200d💻 ❤️\u200d🔥 1️⃣', '👩🏽\u200d💻 ❤️\u200d🔥 1️⃣'],
    ['a form of a Han character', '葛\u{e0100}', '葛\u{e0100}'],
  ];
  for (const [what, text, shown] of cases) it(what, () => assert.equal(visibleText(text), shown));
});
