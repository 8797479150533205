import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createThrottle } from './throttle.ts';

/** A monotonic clock that moves only by `pause` and `advance`. */
function createManualTime() {
  let now = 1_000;
  const pauses: number[] = [];
  return {
    pauses,
    advance(milliseconds: number) {
      now += milliseconds;
    },
    elapsed: () => now,
    async pause(milliseconds: number) {
      pauses.push(milliseconds);
      now += milliseconds;
    },
  };
}

describe('a throttle', () => {
  it('lets the first call pass at once and delays the next until the interval since the last one is over', async () => {
    const time = createManualTime();
    const throttle = createThrottle(time, 50);
    await throttle();
    assert.deepEqual(time.pauses, []);
    time.advance(20);
    await throttle();
    assert.deepEqual(time.pauses, [30]);
    time.advance(50);
    await throttle();
    assert.deepEqual(time.pauses, [30]);
  });
});
