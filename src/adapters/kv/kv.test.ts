/** One conformance suite for every key-value adapter. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  startRedisCluster,
  startSentinels,
} from '../../../test/support/deploy/databases/redis-topologies.ts';
import { skipWithout } from '../../../test/support/harness.ts';
import { startRedis, until } from '../../../test/support/programs.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { type Kv, timedKv } from '../../kernel/ports/kv.ts';
import { createMemoryKv } from './memory-kv.ts';
import { createRedisKv } from './redis.ts';

type Open = () => Promise<Kv | undefined>;

const adapters: Record<string, { open: Open; missing: string }> = {
  memory: { open: async () => createMemoryKv(systemClock), missing: 'nothing' },
  redis: {
    missing: 'redis-server',
    async open() {
      const redis = await startRedis();
      if (!redis) return undefined;
      return createRedisKv(redis.url, createLog({ level: 'silent' }));
    },
  },
  'redis with sentinel': { missing: 'redis-server', open: () => connectTo(startSentinels()) },
  'redis cluster': { missing: 'redis-server', open: () => connectTo(startRedisCluster()) },
};

/** Once all parts of it are connected: the first connection may take longer than the start of a process waits. */
async function connectTo(starting: Promise<{ url: string } | undefined>): Promise<Kv | undefined> {
  const started = await starting;
  if (!started) return undefined;
  const kv = await createRedisKv(started.url, createLog({ level: 'silent' }));
  await until('Redis answers', () => kv.ping().then(() => true));
  return kv;
}

/** Long enough that nothing expires too soon on a busy machine; the tests wait concurrently. */
const ttlMs = 10_000;
const afterTtl = () => sleep(ttlMs + 200);

describe('key-value port', { concurrency: true }, () => {
  for (const [name, { open, missing }] of Object.entries(adapters)) {
    it(`conforms on ${name}`, { concurrency: true }, async (t) => {
      const kv = await open();
      if (!kv) return skipWithout(t, missing);
      await Promise.all([
        t.test('get returns null for a key that was never set', async () => {
          assert.equal(await kv.get('nothing'), null);
        }),
        t.test('set and get, overwriting, delete', async () => {
          assert.equal(await kv.set('a', '1', { ttlMs: 60_000 }), true);
          assert.equal(await kv.set('a', '2', { ttlMs: 60_000 }), true);
          assert.equal(await kv.get('a'), '2');
          await kv.delete('a');
          assert.equal(await kv.get('a'), null);
        }),
        t.test('values expire', async () => {
          await kv.set('short', 'x', { ttlMs });
          assert.equal(await kv.get('short'), 'x');
          await afterTtl();
          assert.equal(await kv.get('short'), null);
        }),
        t.test(
          'onlyIfAbsent: exactly one of fifty succeeds, and an expired key can be set again',
          async () => {
            const won = await Promise.all(
              Array.from({ length: 50 }, (_, i) => kv.set('once', String(i), { ttlMs, onlyIfAbsent: true })),
            );
            assert.equal(won.filter(Boolean).length, 1);
            await afterTtl();
            assert.equal(await kv.set('once', 'again', { ttlMs, onlyIfAbsent: true }), true);
          },
        ),
        t.test('getMany keeps the order, with null for absent keys', async () => {
          await kv.set('m1', 'one', { ttlMs: 60_000 });
          await kv.set('m3', 'three', { ttlMs: 60_000 });
          assert.deepEqual(await kv.getMany(['m1', 'm2', 'm3']), ['one', null, 'three']);
          assert.deepEqual(await kv.getMany([]), []);
        }),
        t.test('a hundred concurrent increments all count, by any step', async () => {
          const values = await Promise.all(
            Array.from({ length: 100 }, () => kv.increment('n', { ttlMs: 60_000 })),
          );
          assert.deepEqual(
            values.toSorted((a, b) => a - b),
            Array.from({ length: 100 }, (_, i) => i + 1),
          );
          assert.equal(await kv.increment('n', { ttlMs: 60_000, by: 5 }), 105);
          assert.equal(await kv.get('n'), '105');
        }),
        t.test('a counter expires a fixed time after its first increment', async () => {
          await kv.increment('w', { ttlMs });
          const expired = afterTtl();
          await sleep(ttlMs / 2);
          assert.equal(await kv.increment('w', { ttlMs }), 2);
          await expired;
          assert.equal(await kv.increment('w', { ttlMs }), 1);
        }),
        t.test(
          'take: of a hundred concurrent calls as many as the maximum allows; absent without a counter',
          async () => {
            assert.equal(await kv.take('quota', { max: 10 }), 'absent');
            assert.equal(await kv.get('quota'), null);
            await kv.raise('quota', 3, { ttlMs: 60_000 });
            const taken = await Promise.all(Array.from({ length: 100 }, () => kv.take('quota', { max: 10 })));
            assert.deepEqual(taken.filter((one) => one !== 'full').toSorted(), [10, 4, 5, 6, 7, 8, 9]);
            assert.equal(await kv.get('quota'), '10');
            assert.equal(await kv.take('quota', { max: 2_147_483_647 }), 11);
          },
        ),
        t.test('raise: never lowers a value, and keeps its first expiry', async () => {
          await kv.raise('mark', 5, { ttlMs });
          await kv.raise('mark', 3, { ttlMs: 60_000 });
          assert.equal(await kv.get('mark'), '5');
          await kv.raise('mark', 8, { ttlMs: 60_000 });
          assert.equal(await kv.get('mark'), '8');
          await afterTtl();
          assert.equal(await kv.get('mark'), null);
        }),
        t.test('commands feed the histogram', async () => {
          const metrics = createMetrics();
          await timedKv(kv, metrics, { isRedis: false }).get('x');
          assert.match(
            await metrics.text(),
            /service_redis_command_duration_seconds_count\{command="get"\} 1/,
          );
        }),
      ]);
      await kv.close();
    });
  }
});
