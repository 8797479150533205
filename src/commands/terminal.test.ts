/** Text of another party on a terminal: what shows nothing, or changes the display, is visible as an escape. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ioFor } from '../../test/support/commands-in-process.ts';
import { oneLine, print, printJson, quoted } from './terminal.ts';

const hidden = [
  '\u200b',
  '\u202e',
  '\u115f',
  '\u1160',
  '\u3164',
  '\uffa0',
  '\u2800',
  '\ufe0f',
  '\u034f',
].concat(['\u{e0041}', '\u{e0100}', '\u{1d173}', '\u001b', '\u009b', '\ud800']);

it('characters that show nothing are printed as escapes, in a text and in JSON', () => {
  for (const character of hidden) {
    const text = `pay${character}ments`;
    const shown = `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`;
    assert.equal(quoted(text), `pay${shown}ments`);
    assert.equal(oneLine(text), `pay${shown}ments`);
    let output = '';
    const io = ioFor({}, (added) => {
      output += added;
    });
    print(io, text);
    assert.equal(output, `pay${shown}ments\n`);
    output = '';
    printJson(io, { name: text });
    assert.ok(!output.includes(character), shown);
    assert.deepEqual(JSON.parse(output), { name: text });
  }
});

it('letters of all scripts and emoji stay', () => {
  for (const text of ['Ada Löveläce', '日本', 'ที่', '👩', '한국어']) assert.equal(quoted(text), text);
});
