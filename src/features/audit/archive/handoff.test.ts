import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createHandoff } from './handoff.ts';

it('a writer goes on when the reader asks for the next value', async () => {
  const { values, push, end } = createHandoff<{ number: number }>();
  const order: string[] = [];
  const reading = (async () => {
    for await (const { number } of values) order.push(`read ${number}`);
    order.push('end');
  })();
  for (const number of [1, 2, 3]) {
    await push({ number });
    order.push(`pushed ${number}`);
  }
  end();
  await reading;
  assert.deepEqual(order, ['read 1', 'pushed 1', 'read 2', 'pushed 2', 'read 3', 'pushed 3', 'end']);
});

it('a reader that stops does not hold up the writer', async () => {
  const { values, push } = createHandoff<object>();
  const reading = (async () => {
    for await (const _ of values) return;
  })();
  await push({});
  await reading;
  await push({});
  await push({});
});
