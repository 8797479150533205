import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { fromHex, portableFromHex, portableToHex, toHex } from '../../src/transparency/bytes.ts';

it('hexadecimal digits of any bytes, with and without the functions of ECMAScript 2026', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const digits = Buffer.from(bytes).toString('hex');
      for (const write of [toHex, portableToHex]) assert.equal(write(bytes), digits);
      for (const read of [fromHex, portableFromHex]) assert.deepEqual(read(digits), bytes);
    }),
  );
});
