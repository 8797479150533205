import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deleteInChunks } from './delete-in-chunks.ts';

describe('deleteInChunks', () => {
  const createTable = (rows: number) => {
    const chunks: number[] = [];
    return {
      chunks,
      deleteChunk: async (limit: number) => {
        chunks.push(Math.min(rows, limit));
        rows -= Math.min(rows, limit);
        return chunks.at(-1) ?? 0;
      },
    };
  };
  for (const [rows, expected] of [
    [0, [0]],
    [4_999, [4_999]],
    [5_000, [5_000, 0]],
    [12_345, [5_000, 5_000, 2_345]],
  ] as const)
    it(`deletes ${rows} rows`, async () => {
      const { chunks, deleteChunk } = createTable(rows);
      await deleteInChunks(new AbortController().signal, deleteChunk);
      assert.deepEqual(chunks, expected);
    });
  it('stops between two chunks when the signal aborts, and does not start after that', async () => {
    const { chunks, deleteChunk } = createTable(20_000);
    const stopping = new AbortController();
    await deleteInChunks(stopping.signal, async (limit) => {
      if (chunks.length === 1) stopping.abort();
      return deleteChunk(limit);
    });
    assert.deepEqual(chunks, [5_000, 5_000]);
    await deleteInChunks(stopping.signal, deleteChunk);
    assert.equal(chunks.length, 2);
  });
  it('fails when a chunk fails', async () => {
    const failing = deleteInChunks(new AbortController().signal, async () => assert.fail('no database'));
    await assert.rejects(failing, /no database/);
  });
});
