/** Hashes of printed links are taken for the same links only. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { linkHash } from '../chain/hashes.ts';
import { createLinkHashes } from './link-hashes.ts';

it('is the hash of each link, printed or not, verified in the same order or another', () => {
  const link = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3'));
  const step = fc.record({ isPrinted: fc.boolean(), link });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const hashes = createLinkHashes();
      for (const {
        isPrinted,
        link: [previous, record],
      } of steps)
        assert.equal(
          (isPrinted ? hashes.ofPrinted : hashes.ofVerified)(previous, record),
          linkHash(previous, record),
        );
    }),
  );
});

it('keeps a limited number, and goes on after it', () => {
  const hashes = createLinkHashes();
  const numbers = Array.from({ length: 25_000 }, (_, number) => String(number));
  for (const record of numbers) hashes.ofPrinted('previous', record);
  for (const record of numbers)
    assert.equal(hashes.ofVerified('previous', record), linkHash('previous', record));
  assert.equal(hashes.ofPrinted('previous', 'next'), linkHash('previous', 'next'));
  assert.equal(hashes.ofVerified('previous', 'next'), linkHash('previous', 'next'));
});
