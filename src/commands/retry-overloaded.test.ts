import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnavailable } from '../kernel/data/db.ts';
import { Overloaded } from '../kernel/overloaded.ts';
import { retryOverloaded } from './retry-overloaded.ts';

/** A step that fails with each of `errors`, then succeeds. */
function createStep(...errors: Error[]) {
  let calls = 0;
  return {
    calls: () => calls,
    async run() {
      calls += 1;
      const error = errors.shift();
      if (error) throw error;
      return 'done';
    },
  };
}

test('a step that found every connection in use runs again', async () => {
  const step = createStep(new Overloaded('database_connections'));
  assert.equal(await retryOverloaded(step.run), 'done');
  assert.equal(step.calls(), 2);
});

test('a database that cannot be reached ends the step at once', async () => {
  const unavailable = new DatabaseUnavailable(new Error('ECONNREFUSED'));
  const step = createStep(unavailable);
  await assert.rejects(retryOverloaded(step.run), unavailable);
  assert.equal(step.calls(), 1);
});

test('a step that stays overloaded fails at the limit', async () => {
  const step = createStep(...Array.from({ length: 9 }, () => new Overloaded('database_connections')));
  await assert.rejects(retryOverloaded(step.run, 1_000), Overloaded);
  assert.equal(step.calls(), 3);
});
