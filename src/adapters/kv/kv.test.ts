/** One conformance suite for every key-value adapter. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../../../test/support/harness.ts';
import { startRedis } from '../../../test/support/programs.ts';
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
};

/** Long enough that a machine which stalls for a while finds nothing gone too soon; all that wait for it wait side by side. */
const ttlMs = 10_000;
const over = () => sleep(ttlMs + 200);

describe('key-value port', { concurrency: true }, () => {
  for (const [name, { open, missing }] of Object.entries(adapters)) {
    it(`behaves on ${name} as it says`, { concurrency: true }, async (t) => {
      const kv = await open();
      if (!kv) return skipWithout(t, missing);
      await Promise.all([
        t.test('get answers null for a key that was never set', async () => {
          assert.equal(await kv.get('nothing'), null);
        }),
        t.test('set and get, overwriting, delete', async () => {
          assert.equal(await kv.set('a', '1', { ttlMs: 60_000 }), true);
          assert.equal(await kv.set('a', '2', { ttlMs: 60_000 }), true);
          assert.equal(await kv.get('a'), '2');
          await kv.delete('a');
          assert.equal(await kv.get('a'), null);
        }),
        t.test('values vanish after their time', async () => {
          await kv.set('short', 'x', { ttlMs });
          assert.equal(await kv.get('short'), 'x');
          await over();
          assert.equal(await kv.get('short'), null);
        }),
        t.test('onlyIfAbsent: exactly one of fifty wins, and a vanished key can be taken again', async () => {
          const won = await Promise.all(
            Array.from({ length: 50 }, (_, i) => kv.set('once', String(i), { ttlMs, onlyIfAbsent: true })),
          );
          assert.equal(won.filter(Boolean).length, 1);
          await over();
          assert.equal(await kv.set('once', 'again', { ttlMs, onlyIfAbsent: true }), true);
        }),
        t.test('getMany keeps order and shows gaps', async () => {
          await kv.set('m1', 'one', { ttlMs: 60_000 });
          await kv.set('m3', 'three', { ttlMs: 60_000 });
          assert.deepEqual(await kv.getMany(['m1', 'm2', 'm3']), ['one', null, 'three']);
          assert.deepEqual(await kv.getMany([]), []);
        }),
        t.test('increment counts every one of a hundred at once, by any step', async () => {
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
        t.test(
          'a counter vanishes a fixed time after its first increment, however often it is raised',
          async () => {
            await kv.increment('w', { ttlMs });
            const vanished = over();
            await sleep(ttlMs / 2);
            assert.equal(await kv.increment('w', { ttlMs }), 2);
            await vanished;
            assert.equal(await kv.increment('w', { ttlMs }), 1);
          },
        ),
        t.test(
          'take: of a hundred at once as many as there is room for, and nothing of what is not there',
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
        t.test('raise: up and never down, and the time it was given first stays', async () => {
          await kv.raise('mark', 5, { ttlMs });
          await kv.raise('mark', 3, { ttlMs: 60_000 });
          assert.equal(await kv.get('mark'), '5');
          await kv.raise('mark', 8, { ttlMs: 60_000 });
          assert.equal(await kv.get('mark'), '8');
          await over();
          assert.equal(await kv.get('mark'), null);
        }),
        t.test('commands feed the histogram', async () => {
          const metrics = createMetrics();
          await timedKv(kv, metrics).get('x');
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
