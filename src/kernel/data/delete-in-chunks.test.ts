import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deleteInChunks } from './delete-in-chunks.ts';

describe('in pieces', () => {
  const taking = (there: number) => {
    const steps: number[] = [];
    return {
      steps,
      step: async (atMost: number) => {
        steps.push(Math.min(there, atMost));
        there -= Math.min(there, atMost);
        return steps.at(-1) ?? 0;
      },
    };
  };
  for (const [there, expected] of [
    [0, [0]],
    [4_999, [4_999]],
    [5_000, [5_000, 0]],
    [12_345, [5_000, 5_000, 2_345]],
  ] as const)
    it(`takes away ${there}`, async () => {
      const { steps, step } = taking(there);
      await deleteInChunks(new AbortController().signal, step);
      assert.deepEqual(steps, expected);
    });
  it('ends between two pieces when it is to stop, and does not begin afterwards', async () => {
    const { steps, step } = taking(20_000);
    const stopping = new AbortController();
    await deleteInChunks(stopping.signal, async (atMost) => {
      if (steps.length === 1) stopping.abort();
      return step(atMost);
    });
    assert.deepEqual(steps, [5_000, 5_000]);
    await deleteInChunks(stopping.signal, step);
    assert.equal(steps.length, 2);
  });
  it('fails when a piece fails', async () => {
    const failing = deleteInChunks(new AbortController().signal, async () => assert.fail('away'));
    await assert.rejects(failing, /away/);
  });
});
