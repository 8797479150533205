import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createYield } from './yield.ts';

it('a pause lets others have their turn, every so often', async () => {
  const pause = createYield(10);
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 0);
  const seen: number[] = [];
  for (let step = 1; step <= 30; step += 1) {
    const rest = pause();
    if (rest) seen.push(step);
    await rest;
    for (const until = performance.now() + 0.3; performance.now() < until; );
  }
  clearInterval(others);
  assert.deepEqual(seen, [10, 20, 30]);
  assert.ok(turns > 0);
});
