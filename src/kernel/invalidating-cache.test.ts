import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMemoryKv } from '../adapters/kv/memory-kv.ts';
import type { Tx } from './data/db.ts';
import type { DomainEvent } from './domain-event.ts';
import { createInvalidatingCache } from './invalidating-cache.ts';
import { createMetrics } from './observability/metrics.ts';
import { type Kv, KvUnavailable } from './ports/kv.ts';

const start = () => {
  let time = 1_800_000_000_000;
  let unavailable = false;
  let refused = 0;
  const clock = { now: () => time };
  const store = createMemoryKv(clock);
  const whenAvailable = <T>(work: () => Promise<T>): Promise<T> => {
    if (!unavailable) return work();
    refused += 1;
    return Promise.reject(new KvUnavailable('test'));
  };
  const kv: Kv = {
    ...store,
    getMany: (keys) => whenAvailable(async () => store.getMany(keys)),
    set: (key, value, options) => whenAvailable(() => store.set(key, value, options)),
  };
  const cache = createInvalidatingCache({ kv, clock, metrics: createMetrics() });
  const listener = cache.listener(['agent.updated'], ({ agentId }) => [agentId]);
  return {
    cache,
    store,
    now: clock.now,
    pass: (ms: number) => {
      time += ms;
    },
    setUnavailable: (value: boolean) => {
      unavailable = value;
    },
    refusals: () => refused,
    invalidate: (...keys: string[]) =>
      listener.inTransaction?.(
        {} as Tx,
        keys.map((agentId) => ({ agentId }) as DomainEvent),
      ),
    retryPending: () => cache.loops[0]?.run(new AbortController().signal),
    get: async (key: string) => (await cache.getMany([key]))[0],
  };
};

describe('invalidating cache', () => {
  it('returns the same frozen object until another value is cached', async () => {
    const t = start();
    await t.cache.putIfAbsent([['a', { list: ['one'] }]], t.now());
    const first = (await t.get('a')) as { list: string[] };
    assert.equal(await t.get('a'), first);
    assert.throws(() => first.list.push('two'), TypeError);
    t.pass(10_000);
    await t.cache.putIfAbsent([['a', { list: ['one'] }]], t.now());
    assert.notEqual(await t.get('a'), first);
    assert.deepEqual(await t.get('a'), first);
  });

  it('uses a value for ten seconds after it was read', async () => {
    const t = start();
    await t.cache.putIfAbsent([['a', 'one']], t.now() - 4_000);
    assert.equal(await t.get('a'), 'one');
    t.pass(5_999);
    assert.equal(await t.get('a'), 'one');
    t.pass(1);
    assert.equal(await t.get('a'), null);
    await t.cache.putIfAbsent([['b', 'late']], t.now() - 10_000);
    assert.equal(await t.get('b'), null);
  });

  it('returns an equal value and parses it once', async () => {
    const t = start();
    const agent = { name: 'a', scopes: ['one', 'two'], endedAt: null };
    await t.cache.putIfAbsent([['a', agent]], t.now());
    assert.deepEqual(await t.get('a'), agent);
    assert.equal(await t.get('a'), await t.get('a'));
    await t.store.delete('a');
    await t.cache.putIfAbsent([['a', { ...agent, name: 'b' }]], t.now());
    assert.deepEqual(await t.get('a'), { ...agent, name: 'b' });
  });

  it('ignores a value that was written late, although its time to live is fresh', async () => {
    const t = start();
    await t.cache.putIfAbsent([['a', 'one']], t.now());
    const written = String(await t.store.get('a'));
    t.pass(90_000);
    await t.store.set('a', written, { ttlMs: 10_000 });
    assert.equal(await t.get('a'), null);
  });

  it('ignores text that it did not write', async () => {
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
      assert.equal(await t.get('a'), null, text);
    }
  });

  it('neither uses nor caches a value for a minute after an invalidation', async () => {
    const t = start();
    await t.cache.putIfAbsent([['a', 'one']], t.now());
    await t.invalidate('a');
    await t.cache.putIfAbsent([['a', 'one']], t.now());
    assert.equal(await t.get('a'), null);
    t.pass(59_000);
    await t.cache.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.get('a'), null);
    t.pass(1_000);
    await t.cache.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.get('a'), 'two');
  });

  it('putUntil overwrites a tombstone and lasts until the given time', async () => {
    const t = start();
    await t.invalidate('a');
    await t.cache.putUntil('a', 'over', t.now() + 3_600_000);
    t.pass(3_599_000);
    assert.equal(await t.get('a'), 'over');
    t.pass(1_000);
    assert.equal(await t.get('a'), null);
  });
});

describe('a committed change', () => {
  it('is invalidated again after the commit, for a store that has lost the tombstone; then `afterwards` runs', async () => {
    const t = start();
    const afterwards: string[] = [];
    const { afterCommit } = t.cache.listener(
      ['agent.updated'],
      ({ agentId }) => [agentId],
      ({ agentId }) => afterwards.push(agentId),
    );
    await t.invalidate('a');
    await t.store.delete('a');
    await t.cache.putIfAbsent([['a', 'older']], t.now());
    afterCommit?.([{ agentId: 'a' } as DomainEvent]);
    await setImmediate();
    assert.equal(await t.get('a'), null);
    assert.deepEqual(afterwards, ['a']);
  });
});

describe('while the store is unavailable', () => {
  it('changed keys are read from PostgreSQL, and invalidated when the store is back', async () => {
    const t = start();
    await t.cache.putIfAbsent([['a', 'one']], t.now());
    await t.cache.putIfAbsent([['b', 'one']], t.now());
    t.setUnavailable(true);
    await t.invalidate('a');
    assert.equal(await t.get('a'), null);
    t.setUnavailable(false);
    assert.equal(await t.get('a'), null, 'the stored value is older');
    assert.equal(await t.get('b'), 'one');
    await t.retryPending();
    assert.notEqual(await t.store.get('a'), null);
    assert.equal(await t.get('a'), null);
    t.pass(60_000);
    await t.cache.putIfAbsent([['a', 'two']], t.now());
    assert.equal(await t.get('a'), 'two');
  });

  it('thousands of pending invalidations cost one attempt per retry, and expire', async () => {
    const t = start();
    t.setUnavailable(true);
    const keys = Array.from({ length: 2_000 }, (_, index) => `key-${index}`);
    await t.invalidate(...keys);
    const before = t.refusals();
    await t.retryPending();
    await t.get('other');
    assert.equal(t.refusals() - before, 2, 'one write, one read');
    t.pass(60_000);
    await t.retryPending();
    assert.equal(t.refusals() - before, 2, 'no invalidation is pending');
  });
});

it('memory does not grow when values are cached again every ten seconds', async () => {
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
    await t.cache.putIfAbsent(
      keys.map((key) => [key, { key, round, long }]),
      t.now(),
    );
    assert.deepEqual(
      await Promise.all(keys.map(t.get)),
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
