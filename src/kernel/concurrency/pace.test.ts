import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createPace } from './pace.ts';

const turnMs = 100;

/** A process in which each turn of the event loop takes `turnMs`. */
function start() {
  const requests = { count: 0 };
  let now = 0;
  const pace = createPace(requests, () => {
    now += turnMs;
    return now;
  });
  return {
    requests,
    wait(milliseconds: number) {
      now += milliseconds;
    },
    /** Whether the next portion may start in the following turn of the event loop, and after how long it starts. */
    async portion() {
      const startedAt = performance.now();
      let isStarted = false;
      const started = new Promise<void>((resolve) =>
        pace(() => {
          isStarted = true;
          resolve();
        }),
      );
      // Turns of the event loop, and no time: a rest ends in a later one.
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      const atOnce = isStarted;
      await started;
      return { atOnce, tookMs: performance.now() - startedAt };
    },
  };
}

describe('background work', () => {
  it('goes on in the next turn while no requests come', async () => {
    const { portion } = start();
    for (let count = 0; count < 3; count += 1) assert.equal((await portion()).atOnce, true);
  });

  it('rests for three times the duration of its turn after a request, for a second', async () => {
    const { requests, portion, wait } = start();
    requests.count += 1;
    for (let count = 0; count < 2; count += 1) {
      const { tookMs } = await portion();
      // A timer may be a millisecond early.
      assert.ok(tookMs >= 3 * turnMs - 2, `${tookMs} ms`);
    }
    wait(1_000);
    assert.equal((await portion()).atOnce, true);
  });
});
