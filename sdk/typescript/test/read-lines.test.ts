import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { maxLineLength } from '../src/audit/export-lines.ts';
import { createDecoder, splitLines } from '../src/audit/read-lines.ts';

const linesOf = async (chunks: AsyncIterable<string>) => (await Array.fromAsync(splitLines(chunks))).flat();
/** As the command reads a file. */
const linesIn = (chunks: readonly Buffer[]) => {
  const decode = createDecoder();
  return linesOf(Readable.from([...chunks.map((chunk) => decode(chunk)), decode()]));
};

describe('the lines of an export', () => {
  for (const [name, text, lines] of [
    ['LF', 'a\nb\n', ['a', 'b', '']],
    ['CRLF', 'a\r\nb\r\n\r\n', ['a', 'b', '', '']],
    ['no line feed at the end', 'a\nb', ['a', 'b']],
    ['a carriage return at the end', 'a\nb\r', ['a', 'b']],
    ['empty lines', '\n\na\n\n', ['', '', 'a', '', '']],
    ['no text', '', ['']],
    ['other line breaks of Unicode', 'a\u2028\u2029\u0085\v\fb\n', ['a\u2028\u2029\u0085\v\fb', '']],
    ['a carriage return within a line', 'a\rb\n', ['a\rb', '']],
    ['a byte order mark', '\ufeffa\n', ['\ufeffa', '']],
  ] as const)
    it(name, async () => {
      assert.deepEqual(await linesIn([Buffer.from(text)]), lines);
    });

  it('do not depend on the chunks', async () => {
    const part = fc.constantFrom('\n', '\r\n', '\r', 'ä', '😀', '\u2028', '{"kind":"link"}', ' ');
    await fc.assert(
      fc.asyncProperty(fc.array(part), fc.array(fc.nat(40)), async (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''));
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        assert.deepEqual(
          await linesIn(chunks.filter(({ length }) => length > 0)),
          parts
            .join('')
            .split('\n')
            .map((line) => line.replace(/\r$/, '')),
        );
      }),
    );
  });

  it('bytes that are no UTF-8 are not replaced: no line of an export has the character in their place', async () => {
    assert.deepEqual(await linesIn([Buffer.of(0x61, 0xff, 0x0a)]), ['\0']);
    assert.deepEqual(await linesIn([Buffer.of(0x61, 0x0a, 0xc3)]), ['a', '\0']);
    assert.deepEqual(await linesIn([Buffer.of(0x61, 0xc3), Buffer.of(0x28, 0x0a)]), ['a\0']);
  });

  it('a line without an end is not read to its end', async () => {
    let chunks = 0;
    async function* endless() {
      for (;;) {
        chunks += 1;
        yield 'x'.repeat(1024 * 1024);
      }
    }
    const lines = await linesOf(endless());
    assert.ok((lines.at(-1) as string).length > maxLineLength);
    assert.equal(chunks, maxLineLength / 1024 / 1024 + 1);
  });
});
