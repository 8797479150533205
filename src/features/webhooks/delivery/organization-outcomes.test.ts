import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createOrganizationOutcomes, outcomeAgeMs } from './organization-outcomes.ts';

it('counts each organization once, by its newest outcome of the last hour', () => {
  let time = 0;
  const outcomes = createOrganizationOutcomes({ now: () => time });
  const counts = () => [outcomes.count('delivered'), outcomes.count('failed')];
  assert.deepEqual(counts(), [0, 0]);
  for (let attempt = 0; attempt < 5; attempt += 1) outcomes.record('one', 'failed');
  outcomes.record('two', 'delivered');
  assert.deepEqual(counts(), [1, 1]);
  time = outcomeAgeMs - 1;
  outcomes.record('one', 'delivered');
  outcomes.record('three', 'failed');
  assert.deepEqual(counts(), [2, 1]);
  time = outcomeAgeMs;
  assert.deepEqual(counts(), [1, 1]);
  time += outcomeAgeMs;
  assert.deepEqual(counts(), [0, 0]);
});
