import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { bigints, byteas, jsons, texts, transactionIds, uuids } from './binary-arrays.ts';

const t = await startApp();
const read = async (type: string, value: Buffer) =>
  (await t.sql<{ list: unknown }>(`select to_json($1::${type}[]::text[]) as list`, [value]))[0]?.list;

describe('binary arrays', () => {
  it('are read by PostgreSQL as the texts that they were made from', async () => {
    const ids = [t.app.ids.uuid(), t.app.ids.uuid(), '00000000-0000-0000-0000-000000000000'];
    assert.deepEqual(await read('uuid', uuids(ids)), ids);
    assert.deepEqual(await read('uuid', uuids(ids.map((id) => id.toUpperCase()))), ids);
    const list = ['', 'null', '{"a",\\}', '\u001e\u007f\u2028é', '\u{1f600}'];
    assert.deepEqual(await read('text', texts(list)), list);
    assert.deepEqual(await read('json', jsons(['{"b": 1}', '[]'])), ['{"b": 1}', '[]']);
    assert.deepEqual(await read('bytea', byteas(['00ff', '', 'AB'])), ['\\x00ff', '\\x', '\\xab']);
    const numbers = [0, 1, -1, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    assert.deepEqual(await read('bigint', bigints(numbers)), numbers.map(String));
    const transactions = ['0', '7', '4294967296', '18446744073709551615'];
    assert.deepEqual(await read('xid8', transactionIds(transactions)), transactions);
    for (const [type, value] of [
      ['uuid', uuids([])],
      ['bigint', bigints([])],
      ['text', texts([])],
    ] as const)
      assert.deepEqual(await read(type, value), []);
  });

  it('throw for a text that is no UUID', () => {
    for (const text of [
      '',
      'x',
      '0'.repeat(36),
      `${'0'.repeat(35)}g`,
      '00000000-0000-0000-0000-0000000000é0',
    ])
      assert.throws(() => uuids([text]), TypeError, text);
  });

  it('throw for a number that is not whole, and for one that does not fit', () => {
    for (const number of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 63])
      assert.throws(() => bigints([number]), RangeError, String(number));
    for (const text of ['x', '1.5', '18446744073709551616', '-1'])
      assert.throws(() => transactionIds([text]), text);
  });

  it('throw for a text that is not hexadecimal', () => {
    for (const text of ['0', 'gg', '0x', '-ab-cd', 'ab-cd-'])
      assert.throws(() => byteas([text]), TypeError, text);
  });
});
