import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { Overloaded } from '../overloaded.ts';
import { createFairQueue } from './fair-queue.ts';

/** Jobs that the test ends, and the order in which they start. */
function createJobs() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    started,
    job: (name: string) => () => {
      started.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    async end(name: string) {
      ends.get(name)?.resolve(name);
      await nextTick();
    },
    async fail(name: string) {
      ends.get(name)?.reject(new Error(name));
      await nextTick();
    },
  };
}

describe('a fair queue', () => {
  it('runs one job per key and `concurrency` in all; other keys come before the second job of a key', async () => {
    const enqueue = createFairQueue({ concurrency: 2, maxQueue: 10 });
    const { started, job, end } = createJobs();
    const results = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => enqueue(name[0] as string, job(name)));
    assert.deepEqual(started, ['a1', 'b1']);
    await end('a1');
    assert.deepEqual(started, ['a1', 'b1', 'c1']);
    await end('c1');
    assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2']);
    await end('b1');
    assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2', 'c2']);
    for (const name of ['a2', 'c2', 'a3']) await end(name);
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']);
  });

  it('runs `perKey` jobs of a key at once; other keys come before its next', async () => {
    const enqueue = createFairQueue({ concurrency: 3, perKey: 2, maxQueue: 10 });
    const { started, job, end } = createJobs();
    const results = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => enqueue(name[0] as string, job(name)));
    assert.deepEqual(started, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'b2']);
    for (const name of ['b1', 'a2', 'b2', 'a3']) await end(name);
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'b1', 'b2']);
  });

  it('a key rests after a job in proportion to its duration; other keys do not wait for that', async () => {
    const enqueue = createFairQueue({ concurrency: 1, restFactor: 2, maxQueue: 10 });
    const { started, job, end } = createJobs();
    const results = ['a1', 'a2', 'b1'].map((name) => enqueue(name[0] as string, job(name)));
    await sleep(20);
    await end('a1');
    assert.deepEqual(started, ['a1', 'b1']);
    const endedAt = performance.now();
    await end('b1');
    while (started.length < 3) await nextTick();
    assert.ok(performance.now() - endedAt >= 30, 'at least about twice 20 ms');
    await end('a2');
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'b1']);
  });

  it('continues when all waiting jobs of a key timed out while another one ran', async () => {
    const enqueue = createFairQueue({ concurrency: 1, perKey: 2, maxQueue: 10, maxWaitMs: 20 });
    const { job, end } = createJobs();
    const first = enqueue('a', job('a1'));
    await assert.rejects(enqueue('a', job('a2')), Overloaded);
    await end('a1');
    assert.equal(await first, 'a1');
    for (const key of ['a', 'b']) assert.equal(await enqueue(key, async () => key), key);
  });

  it('a failed job does not affect others, also when it throws synchronously', async () => {
    const enqueue = createFairQueue({ concurrency: 1, maxQueue: 10 });
    const { job, end, fail } = createJobs();
    const first = assert.rejects(enqueue('a', job('a1')), /a1/);
    const second = assert.rejects(
      enqueue('a', () => {
        throw new Error('at once');
      }),
      /at once/,
    );
    const third = enqueue('b', job('b1'));
    await fail('a1');
    await Promise.all([first, nextTick()]);
    await end('b1');
    assert.equal(await third, 'b1');
    await second;
  });

  it('Overloaded when the queue of a key is full; other keys are not affected', async () => {
    const enqueue = createFairQueue({ concurrency: 1, maxQueue: 1 });
    const { job, end } = createJobs();
    const results = [enqueue('a', job('a1')), enqueue('a', job('a2')), enqueue('b', job('b1'))];
    await assert.rejects(enqueue('a', job('a3')), Overloaded);
    for (const name of ['a1', 'b1', 'a2']) await end(name);
    assert.deepEqual(await Promise.all(results), ['a1', 'a2', 'b1']);
    assert.equal(await Promise.race([enqueue('a', async () => 'again'), nextTick('late')]), 'again');
  });

  it('Overloaded when a job has waited too long; the others continue', async () => {
    const enqueue = createFairQueue({ concurrency: 1, maxQueue: 10, maxWaitMs: 20 });
    const { started, job, end } = createJobs();
    const first = enqueue('a', job('a1'));
    await Promise.all([
      assert.rejects(enqueue('a', job('a2')), Overloaded),
      assert.rejects(enqueue('b', job('b1')), Overloaded),
    ]);
    await end('a1');
    assert.equal(await first, 'a1');
    assert.deepEqual(started, ['a1']);
    for (const key of ['a', 'b', 'c']) assert.equal(await enqueue(key, async () => key), key);
  });
});
