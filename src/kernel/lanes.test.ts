import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Overloaded } from './gather.ts';
import { createLanes } from './lanes.ts';

/** Work that ends when it is told to, and notes when it begins. */
function createWork() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    work: (name: string) => () => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    async end(name: string) {
      ends.get(name)?.resolve(name);
      await turn();
    },
    async fail(name: string) {
      ends.get(name)?.reject(new Error(name));
      await turn();
    },
  };
}

describe('lanes', () => {
  it('one at a time of each, so many at once, and others before the second of the first', async () => {
    const lanes = createLanes({ atOnce: 2, waiting: 10 });
    const { begun, work, end } = createWork();
    const answers = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => lanes(name[0] as string, work(name)));
    assert.deepEqual(begun, ['a1', 'b1']);
    await end('a1');
    assert.deepEqual(begun, ['a1', 'b1', 'c1']);
    await end('c1');
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2']);
    await end('b1');
    assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'c2']);
    for (const name of ['a2', 'c2', 'a3']) await end(name);
    assert.deepEqual(await Promise.all(answers), ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']);
  });

  it('what fails is its own affair, also when it throws at once', async () => {
    const lanes = createLanes({ atOnce: 1, waiting: 10 });
    const { work, end, fail } = createWork();
    const first = assert.rejects(lanes('a', work('a1')), /a1/);
    const second = assert.rejects(
      lanes('a', async () => {
        throw new Error('at once');
      }),
      /at once/,
    );
    const third = lanes('b', work('b1'));
    await fail('a1');
    await Promise.all([first, turn()]);
    await end('b1');
    assert.equal(await third, 'b1');
    await second;
  });

  it('refuses what is too much to wait, in that lane only', async () => {
    const lanes = createLanes({ atOnce: 1, waiting: 1 });
    const { work, end } = createWork();
    const answers = [lanes('a', work('a1')), lanes('a', work('a2')), lanes('b', work('b1'))];
    await assert.rejects(lanes('a', work('a3')), Overloaded);
    for (const name of ['a1', 'b1', 'a2']) await end(name);
    assert.deepEqual(await Promise.all(answers), ['a1', 'a2', 'b1']);
    assert.equal(await Promise.race([lanes('a', async () => 'again'), turn('late')]), 'again');
  });
});
