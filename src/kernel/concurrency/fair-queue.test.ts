import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createFairQueue } from './fair-queue.ts';
import { Overloaded } from './overloaded.ts';

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

describe('a fair queue', () => {
  it('one at a time of each, so many at once, and others before the second of the first', async () => {
    const inTurn = createFairQueue({ concurrency: 2, maxQueue: 10 });
    const { begun, work, end } = createWork();
    const answers = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => inTurn(name[0] as string, work(name)));
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

  it('so many of each at once where the share says so, others before its next', async () => {
    const inTurn = createFairQueue({ concurrency: 3, perKey: 2, maxQueue: 10 });
    const { begun, work, end } = createWork();
    const answers = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => inTurn(name[0] as string, work(name)));
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.deepEqual(begun, ['a1', 'a2', 'b1', 'b2']);
    for (const name of ['b1', 'a2', 'b2', 'a3']) await end(name);
    assert.deepEqual(await Promise.all(answers), ['a1', 'a2', 'a3', 'b1', 'b2']);
  });

  it('goes on when all that waited of an asker was refused while another of it ran', async () => {
    const inTurn = createFairQueue({ concurrency: 1, perKey: 2, maxQueue: 10, maxWaitMs: 20 });
    const { work, end } = createWork();
    const first = inTurn('a', work('a1'));
    await assert.rejects(inTurn('a', work('a2')), Overloaded);
    await end('a1');
    assert.equal(await first, 'a1');
    for (const asker of ['a', 'b']) assert.equal(await inTurn(asker, async () => asker), asker);
  });

  it('what fails is its own affair, also when it throws at once', async () => {
    const inTurn = createFairQueue({ concurrency: 1, maxQueue: 10 });
    const { work, end, fail } = createWork();
    const first = assert.rejects(inTurn('a', work('a1')), /a1/);
    const second = assert.rejects(
      inTurn('a', () => {
        throw new Error('at once');
      }),
      /at once/,
    );
    const third = inTurn('b', work('b1'));
    await fail('a1');
    await Promise.all([first, turn()]);
    await end('b1');
    assert.equal(await third, 'b1');
    await second;
  });

  it('refuses what is too much to wait, of that asker only', async () => {
    const inTurn = createFairQueue({ concurrency: 1, maxQueue: 1 });
    const { work, end } = createWork();
    const answers = [inTurn('a', work('a1')), inTurn('a', work('a2')), inTurn('b', work('b1'))];
    await assert.rejects(inTurn('a', work('a3')), Overloaded);
    for (const name of ['a1', 'b1', 'a2']) await end(name);
    assert.deepEqual(await Promise.all(answers), ['a1', 'a2', 'b1']);
    assert.equal(await Promise.race([inTurn('a', async () => 'again'), turn('late')]), 'again');
  });

  it('refuses what has waited too long, and goes on with the others', async () => {
    const inTurn = createFairQueue({ concurrency: 1, maxQueue: 10, maxWaitMs: 20 });
    const { begun, work, end } = createWork();
    const first = inTurn('a', work('a1'));
    await Promise.all([
      assert.rejects(inTurn('a', work('a2')), Overloaded),
      assert.rejects(inTurn('b', work('b1')), Overloaded),
    ]);
    await end('a1');
    assert.equal(await first, 'a1');
    assert.deepEqual(begun, ['a1']);
    for (const asker of ['a', 'b', 'c']) assert.equal(await inTurn(asker, async () => asker), asker);
  });
});
