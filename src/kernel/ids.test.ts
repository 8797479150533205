import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds, timeOfUuid } from './ids.ts';

test('uuidV7 gives version 7 UUIDs that sort by time', () => {
  let now = 1_700_000_000_000;
  const ids = createIds();
  const made = Array.from({ length: 50 }, () => {
    now += 1;
    return ids.uuidV7(now);
  });
  assert.deepEqual(made, made.toSorted());
  for (const id of made)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(timeOfUuid(made[0] ?? ''), 1_700_000_000_001);
  assert.equal(timeOfUuid(ids.uuid()), 0);
});

test('secrets have their prefix and 256 random bits', () => {
  const ids = createIds();
  const secret = ids.secret('cs_');
  assert.match(secret, /^cs_[\w-]{43}$/);
  assert.notEqual(secret, ids.secret('cs_'));
});
