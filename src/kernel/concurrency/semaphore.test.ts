import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { Overloaded } from '../overloaded.ts';
import { createSemaphore } from './semaphore.ts';

const create = (limits: { maxQueue?: number; maxWaitMs?: number } = {}) =>
  createSemaphore({
    permits: 2,
    maxQueue: 10,
    maxWaitMs: 60_000,
    refusal: () => new Overloaded(),
    ...limits,
  });

describe('semaphore', () => {
  it('admits at most `permits` at once, the others in order', async () => {
    const { acquire, release, waiting } = create();
    assert.deepEqual([acquire(), acquire()], [undefined, undefined]);
    const admitted: number[] = [];
    const waits = [1, 2, 3].map((n) => acquire()?.then(() => admitted.push(n)));
    assert.equal(waiting(), 3);
    for (const expected of [[1], [1, 2], [1, 2, 3]]) {
      release();
      await nextTick();
      assert.deepEqual(admitted, expected);
    }
    await Promise.all(waits);
    release();
    release();
    assert.deepEqual([acquire(), acquire()], [undefined, undefined]);
    assert.notEqual(acquire(), undefined);
    release();
  });

  it('refuses at once when the queue is full', async () => {
    const { acquire, release } = create({ maxQueue: 1 });
    acquire();
    acquire();
    const waiting = acquire();
    await assert.rejects(acquire() as Promise<void>, Overloaded);
    release();
    await waiting;
  });

  it('refuses after maxWaitMs; the permit goes to those that still wait', async () => {
    const { acquire, release, waiting } = create({ maxWaitMs: 20 });
    acquire();
    acquire();
    await assert.rejects(acquire() as Promise<void>, Overloaded);
    assert.equal(waiting(), 0);
    release();
    assert.equal(acquire(), undefined);
  });
});
