import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createStallTimer } from './stall-timer.ts';

const failure = () => new Error('stalled');
const never = new Promise<never>(() => {});

describe('a stall timer', () => {
  it('rejects work that ignores the signal, and aborts the signal', async () => {
    const timer = createStallTimer(20, { failure });
    timer.start();
    await assert.rejects(timer.race(never), /stalled/);
    assert.ok(timer.signal.aborted);
  });

  it('the time counts only between start and pause', async () => {
    const timer = createStallTimer(1, { failure });
    timer.start();
    timer.pause();
    const work = new Promise((resolve) => setTimeout(() => resolve('done'), 30));
    assert.equal(await timer.race(work), 'done');
    assert.equal(timer.signal.aborted, false);
  });

  it('ends with the signal of the caller, and with its reason', async () => {
    const ending = new AbortController();
    const timer = createStallTimer(60_000, { failure, signal: ending.signal });
    const raced = timer.race(never);
    ending.abort(new Error('closing'));
    await assert.rejects(raced, /closing/);
    await assert.rejects(timer.race(Promise.resolve(1)), /closing/);
  });

  it('a source that stops is left; time that the reader takes does not count', async () => {
    const timer = createStallTimer(30, { failure });
    let closed = false;
    async function* source() {
      try {
        yield 1;
        yield 2;
        await never;
      } finally {
        closed = true;
      }
    }
    const read: number[] = [];
    await assert.rejects(async () => {
      for await (const value of timer.whileAwaited(source())) {
        read.push(value);
        if (value === 1) await new Promise((resolve) => setTimeout(resolve, 60));
      }
    }, /stalled/);
    assert.deepEqual([read, closed], [[1, 2], false]);
  });

  it('a reader that stops early closes the source', async () => {
    const timer = createStallTimer(1_000, { failure });
    let closed = false;
    async function* source() {
      try {
        yield 1;
        yield 2;
      } finally {
        closed = true;
      }
    }
    for await (const _ of timer.whileAwaited(source())) break;
    await setImmediate();
    assert.ok(closed);
  });
});
