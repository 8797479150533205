import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createYield } from './yield.ts';

it('yields to the event loop every n-th call', async () => {
  const yieldNow = createYield(10);
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 0);
  const yieldedAt: number[] = [];
  for (let step = 1; step <= 30; step += 1) {
    const yielded = yieldNow();
    if (yielded) yieldedAt.push(step);
    await yielded;
    for (const until = performance.now() + 0.3; performance.now() < until; );
  }
  clearInterval(timer);
  assert.deepEqual(yieldedAt, [10, 20, 30]);
  assert.ok(ticks > 0);
});
