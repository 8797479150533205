import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatCheckpoint, parseCheckpoint } from '../../src/transparency/checkpoint.ts';
import { emptyRoot } from '../../src/transparency/hash.ts';
import { lineText, refusal } from './support.ts';

const root = 'ab'.repeat(32);
const root64 = Buffer.from(root, 'hex').toString('base64');
const text = `log.example/1\n20852163\n${root64}\n`;

describe('a checkpoint', () => {
  it('has three lines', () => {
    const checkpoint = { origin: 'log.example/1', size: 20852163, root };
    assert.equal(formatCheckpoint(checkpoint), text);
    assert.deepEqual(parseCheckpoint(text), { ...checkpoint, extensions: [] });
  });

  it('is read as it was written, for any origin, size and root', () => {
    fc.assert(
      fc.property(
        lineText({ minLength: 1 }),
        fc.maxSafeNat(),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (origin, size, bytes) => {
          const checkpoint = { origin, size, root: Buffer.from(bytes).toString('hex') };
          assert.deepEqual(parseCheckpoint(formatCheckpoint(checkpoint)), { ...checkpoint, extensions: [] });
        },
      ),
    );
  });

  it('may have extension lines', () => {
    assert.deepEqual(parseCheckpoint(`${text}one\ntwo — 2\n`).extensions, ['one', 'two — 2']);
  });

  it('may be of an empty log, and of the largest exact number of entries', () => {
    for (const size of [0, Number.MAX_SAFE_INTEGER])
      assert.equal(parseCheckpoint(formatCheckpoint({ origin: 'o', size, root: emptyRoot })).size, size);
  });

  const sized = (size: string) => text.replace('20852163', size);
  const malformed: Readonly<Record<string, string>> = {
    'no text': '',
    'two lines': 'log.example/1\n20852163\n',
    'no newline at the end': text.slice(0, -1),
    'an empty origin': text.replace('log.example/1', ''),
    'an empty extension line': `${text}\n`,
    'an empty line between extensions': `${text}one\n\ntwo\n`,
    'a leading zero': sized('020852163'),
    'two zeros': sized('00'),
    'a sign': sized('+1'),
    'a negative size': sized('-1'),
    'a space': sized(' 1'),
    'an exponent': sized('1e3'),
    'a fraction': sized('1.0'),
    'digits of another script': sized('١'),
    'a size above 2^53 - 1': sized('9007199254740992'),
    'a size of twenty digits': sized('18446744073709551615'),
    'a root of 31 bytes': text.replace(root64, Buffer.alloc(31).toString('base64')),
    'a root of 33 bytes': text.replace(root64, Buffer.alloc(33).toString('base64')),
    'a root with surplus bits': text.replace('=\n', '\n').replace(/.\n$/, 't=\n'),
    'a root without padding': text.replace('=\n', '\n'),
    'a root in hexadecimal': text.replace(root64, root),
    'a carriage return': text.replaceAll('\n', '\r\n'),
    'too many bytes': `${text}${'x'.repeat(16 * 1024)}\n`,
  };
  for (const [title, input] of Object.entries(malformed))
    it(`CHECKPOINT_MALFORMED: ${title}`, () => {
      assert.throws(() => parseCheckpoint(input), refusal('CHECKPOINT_MALFORMED'));
    });

  it('CHECKPOINT_MALFORMED when one is written that could not be read', () => {
    const checkpoint = { origin: 'log.example/1', size: 1, root };
    for (const change of [
      { origin: '' },
      { origin: 'a\nb' },
      { origin: 'a\n1' },
      { origin: 'a\tb' },
      { size: -1 },
      { size: 1.5 },
      { size: 2 ** 53 },
      { size: Number.NaN },
      { root: 'ab' },
      { root: root.toUpperCase() },
    ])
      assert.throws(
        () => formatCheckpoint({ ...checkpoint, ...change }),
        refusal('CHECKPOINT_MALFORMED'),
        JSON.stringify(change),
      );
  });
});
