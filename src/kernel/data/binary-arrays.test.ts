import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { byteas, jsons, texts, uuids } from './binary-arrays.ts';

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
    for (const [type, value] of [
      ['uuid', uuids([])],
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

  it('throw for a text that is not hexadecimal', () => {
    for (const text of ['0', 'gg', '0x', '-ab-cd', 'ab-cd-'])
      assert.throws(() => byteas([text]), TypeError, text);
  });
});
