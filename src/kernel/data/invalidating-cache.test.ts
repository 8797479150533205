import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import type { DomainEvent } from '../domain-event.ts';
import { type Kv, KvUnavailable } from '../ports/kv.ts';
import type { Tx } from './db.ts';
import { createInvalidatingCache } from './invalidating-cache.ts';

const start = () => {
  let time = 1_800_000_000_000;
  let away = false;
  let refused = 0;
  const clock = { now: () => time };
  const store = createMemoryKv(clock);
  const whenThere = <T>(work: () => Promise<T>): Promise<T> => {
    if (!away) return work();
    refused += 1;
    return Promise.reject(new KvUnavailable('test'));
  };
  const kv: Kv = {
    ...store,
    getMany: (keys) => whenThere(() => store.getMany(keys)),
    set: (key, value, options) => whenThere(() => store.set(key, value, options)),
  };
  const announced = createInvalidatingCache({ kv, clock });
  const listener = announced.listener(({ agentId }) => [agentId]);
  return {
    announced,
    store,
    now: clock.now,
    pass: (ms: number) => {
      time += ms;
    },
    leave: (gone: boolean) => {
      away = gone;
    },
    refusals: () => refused,
    announce: (...keys: string[]) =>
      listener.inTransaction?.(
        {} as Tx,
        keys.map((agentId) => ({ agentId }) as DomainEvent),
      ),
    tellRest: () => announced.loops[0]?.run(new AbortController().signal),
    recall: async (key: string) => (await announced.getMany([key]))[0],
  };
};

describe('what is kept', () => {
  it('is the same object until something else is kept, and nobody can change it', async () => {
    const t = start();
    await t.announced.putIfAbsent([['a', { list: ['one'] }]], t.now());
    const first = (await t.recall('a')) as { list: string[] };
    assert.equal(await t.recall('a'), first);
    assert.throws(() => first.list.push('two'), TypeError);
    t.pass(10_000);
    await t.announced.putIfAbsent([['a', { list: ['one'] }]], t.now());
    assert.notEqual(await t.recall('a'), first);
    assert.deepEqual(await t.recall('a'), first);
  });

  it('is believed for ten seconds from when it was read', async () => {
    const t = start();
    await t.announced.putIfAbsent([['a', 'one']], t.now() - 4_000);
    assert.equal(await t.recall('a'), 'one');
    t.pass(5_999);
    assert.equal(await t.recall('a'), 'one');
    t.pass(1);
    assert.equal(await t.recall('a'), null);
    await t.announced.putIfAbsent([['b', 'late']], t.now() - 10_000);
    assert.equal(await t.recall('b'), null);
  });

  it('comes back as it was given, and is read once, however often it is asked for', async () => {
    const t = start();
    const agent = { name: 'a', scopes: ['one', 'two'], endedAt: null };
    await t.announced.putIfAbsent([['a', agent]], t.now());
    assert.deepEqual(await t.recall('a'), agent);
    assert.equal(await t.recall('a'), await t.recall('a'));
    await t.store.delete('a');
    await t.announced.putIfAbsent([['a', { ...agent, name: 'b' }]], t.now());
    assert.deepEqual(await t.recall('a'), { ...agent, name: 'b' });
  });

  it('is not believed when it got there late, whatever time to live it got then', async () => {
    const t = start();
    await t.announced.putIfAbsent([['a', 'one']], t.now());
    const written = String(await t.store.get('a'));
    t.pass(90_000);
    await t.store.set('a', written, { ttlMs: 10_000 });
    assert.equal(await t.recall('a'), null);
  });

  it('is not believed when it is nothing of ours', async () => {
    const t = start();
    for (const text of [
      '',
      '{}',
      '[]',
      'garbage',
      '9',
      'null',
      '{"until":"9e99","value":1}',
      '{"until":9e99}',
    ]) {
      await t.store.set('a', text, { ttlMs: 1_000 });
      assert.equal(await t.recall('a'), null, text);
    }
  });

  it('is not believed for a minute after a change, nor kept', async () => {
    const t = start();
    await t.announced.putIfAbsent([['a', 'one']], t.now());
    await t.announce('a');
    await t.announced.putIfAbsent([['a', 'one']], t.now());
    assert.equal(await t.recall('a'), null);
    t.pass(59_000);
    await t.announced.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.recall('a'), null);
    t.pass(1_000);
    await t.announced.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.recall('a'), 'two');
  });

  it('that cannot change holds as long as it is said to, over an announcement', async () => {
    const t = start();
    await t.announce('a');
    await t.announced.putUntil('a', 'over', t.now() + 3_600_000);
    t.pass(3_599_000);
    assert.equal(await t.recall('a'), 'over');
    t.pass(1_000);
    assert.equal(await t.recall('a'), null);
  });
});

describe('a change', () => {
  it('is announced once more after its commit, to a store that has lost it, and then followed up', async () => {
    const t = start();
    const followed: string[] = [];
    const { afterCommit } = t.announced.listener(
      ({ agentId }) => [agentId],
      ({ agentId }) => followed.push(agentId),
    );
    await t.announce('a');
    await t.store.delete('a');
    await t.announced.putIfAbsent([['a', 'older']], t.now());
    afterCommit?.([{ agentId: 'a' } as DomainEvent]);
    await setImmediate();
    assert.equal(await t.recall('a'), null);
    assert.deepEqual(followed, ['a']);
  });
});

describe('while the store is away', () => {
  it('what changed is asked of PostgreSQL, and told when it is back', async () => {
    const t = start();
    await t.announced.putIfAbsent([['a', 'one']], t.now());
    await t.announced.putIfAbsent([['b', 'one']], t.now());
    t.leave(true);
    await t.announce('a');
    assert.equal(await t.recall('a'), null);
    t.leave(false);
    assert.equal(await t.recall('a'), null, 'what is there is older');
    assert.equal(await t.recall('b'), 'one');
    await t.tellRest();
    assert.notEqual(await t.store.get('a'), null);
    assert.equal(await t.recall('a'), null);
    t.pass(60_000);
    await t.announced.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.recall('a'), 'two');
  });

  it('thousands of changes cost one attempt each time, and are forgotten when they no longer matter', async () => {
    const t = start();
    t.leave(true);
    const keys = Array.from({ length: 2_000 }, (_, index) => `key-${index}`);
    await t.announce(...keys);
    const before = t.refusals();
    await t.tellRest();
    await t.recall('other');
    assert.equal(t.refusals() - before, 2, 'one to tell, one to ask');
    t.pass(60_000);
    await t.tellRest();
    assert.equal(t.refusals() - before, 2, 'nothing is left to tell');
  });
});

it('what is kept again every ten seconds does not pile up in memory', async () => {
  const t = start();
  const long = 'x'.repeat(50_000);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const inUse = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
  const readAll = async (round: number) => {
    await t.announced.putIfAbsent(
      keys.map((key) => [key, { key, round, long }]),
      t.now(),
    );
    assert.deepEqual(
      await Promise.all(keys.map(t.recall)),
      keys.map((key) => ({ key, round, long })),
    );
    t.pass(10_000);
  };
  await readAll(0);
  const before = inUse();
  for (let round = 1; round <= 100; round += 1) await readAll(round);
  const grown = (inUse() - before) / 1e6;
  assert.ok(grown < 70, `${Math.round(grown)} MB more for the same million characters`);
});
