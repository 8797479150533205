import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { createSha256, portableSha256, sha256 } from '../src/audit/sha256.ts';

const check = (data: string | Uint8Array) => {
  const expected = hash('sha256', data);
  assert.equal(portableSha256(data), expected);
  assert.equal(sha256(data), expected);
};

it('both functions are SHA-256, for every length of the last block', () => {
  for (let length = 0; length <= 200; length += 1) check('a'.repeat(length));
});

it('for any text and any bytes', () => {
  fc.assert(fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 300 })), check));
});

it('for lone surrogates, which UTF-8 does not have', () => check('a\ud800b\udc00'));

it('of parts, however they are cut, and of two messages at once', () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 150 }), { maxLength: 6 });
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      const [first, second] = [createSha256(), createSha256()];
      for (const [at, part] of one.entries()) {
        first.update(part);
        second.update(other[at] ?? Uint8Array.of());
        portableSha256(part);
      }
      for (const part of other.slice(one.length)) second.update(part);
      assert.equal(first.digest(), hash('sha256', Buffer.concat(one)));
      assert.equal(second.digest(), hash('sha256', Buffer.concat(other)));
    }),
  );
});
