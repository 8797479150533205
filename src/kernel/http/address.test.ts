import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { networkOf, normalizeAddress } from './address.ts';

describe('normalizeAddress', () => {
  for (const [plain, ...spellings] of [
    [
      '203.0.113.77',
      '203.0.113.77',
      '203.0.113.77:443',
      '::ffff:203.0.113.77',
      '::FFFF:cb00:714d',
      '[::ffff:cb00:714d]:80',
    ],
    [
      '2001:db8::1',
      '2001:db8::1',
      '2001:DB8:0:0::1',
      '2001:0db8:0000:0000:0000:0000:0000:0001',
      '[2001:db8::1]:9',
      '[2001:db8::1]',
    ],
    ['fe80::1', 'fe80::1%eth0', 'fe80:0::1'],
    ['::1', '::1', '0:0:0:0:0:0:0:1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ] as const)
    it(`gives ${plain} for every spelling`, () => {
      for (const spelling of spellings) assert.equal(normalizeAddress(spelling), plain, spelling);
    });

  it('gives undefined for other text', () => {
    for (const text of [
      '',
      'unknown',
      'localhost',
      '1.2.3',
      '1.2.3.4.5',
      '::g',
      '[::1',
      'a]/x',
      '1.2.3.4, 5.6.7.8',
      '%',
      '999.1.1.1',
    ])
      assert.equal(normalizeAddress(text), undefined, text);
  });
});

describe('networkOf', () => {
  for (const [address, network] of [
    ['203.0.113.77', '203.0.113.77'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['2001:db8::5:0:0:0:1', '2001:db8:0:5::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
    ['unknown', 'unknown'],
  ] as const)
    it(`${address} is in ${network}`, () => {
      assert.equal(networkOf(address), network);
    });
});
