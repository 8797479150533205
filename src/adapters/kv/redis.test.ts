/** The circuit breaker of the Redis adapter. kv.test.ts tests the port's behaviour. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../../../test/support/harness.ts';
import { startRedis, until, withRedis } from '../../../test/support/programs.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { KvUnavailable } from '../../kernel/ports/kv.ts';
import { createRedisKv } from './redis.ts';
import { probeRedis } from './redis-probe.ts';

async function connect(t: TestContext, url: string) {
  const logged: string[] = [];
  const log = createLog({
    level: 'info',
    destination: { write: (line) => void logged.push(JSON.parse(line).msg) },
  });
  const kv = await createRedisKv(url, log);
  t.after(() => kv.close());
  return { kv, logged };
}

/** Blocks the event loop, as loading many modules does. */
const block = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

async function open(t: TestContext) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const { kv, logged } = await connect(t, redis.url);
  const untilRedis = (answers: boolean) =>
    until(`Redis ${answers ? 'answers' : 'is unavailable'}`, async () => {
      const answered = await kv.get('x').then(
        () => true,
        () => false,
      );
      return answered === answers || undefined;
    });
  await untilRedis(true);
  return { redis, kv, logged, untilRedis };
}

/** On a busy machine there may be more than one outage, but the lines alternate. */
function assertAlternating(logged: readonly string[]): void {
  logged.forEach((line, index) => {
    assert.match(
      line,
      index % 2 === 0 ? /^redis unavailable: / : /^redis available again$/,
      logged.join('\n'),
    );
  });
}

const readOnlyCauses = {
  'is full': {
    begin: ['config', 'set', 'maxmemory', '1'],
    end: ['config', 'set', 'maxmemory', '0'],
    says: /^redis unavailable: OOM command not allowed/,
  },
  'has become a replica': {
    begin: ['replicaof', '127.0.0.1', '1'],
    end: ['replicaof', 'no', 'one'],
    says: /^redis unavailable: READONLY You can't write/,
  },
  'misses its replicas': {
    begin: ['config', 'set', 'min-replicas-to-write', '1'],
    end: ['config', 'set', 'min-replicas-to-write', '0'],
    says: /^redis unavailable: NOREPLICAS/,
  },
};

describe('a Redis that accepts reads but no writes counts as unavailable', { concurrency: 3 }, () => {
  for (const [why, { begin, end, says }] of Object.entries(readOnlyCauses)) {
    test(`when it ${why}: reads fail too; logged once; recovers`, async (t) => {
      const opened = await open(t);
      if (!opened) return;
      const { redis, kv, logged, untilRedis } = opened;
      const command = ([name = '', ...rest]: string[]) =>
        withRedis(redis.port, (client) => client.call(name, ...rest));
      await kv.set('kept', 'before', { ttlMs: 60_000 });
      await command(begin);
      await assert.rejects(async () => kv.increment('n', { ttlMs: 60_000 }), KvUnavailable);
      for (const refused of [
        () => kv.get('kept'),
        async () => kv.getMany(['kept']),
        () => kv.take('n', { max: 1 }),
        () => kv.ping(),
      ])
        await assert.rejects(refused(), KvUnavailable);
      assertAlternating(logged);
      assert.match(logged.at(-1) ?? '', says);

      await command(end);
      await untilRedis(true);
      assert.equal(await kv.get('kept'), 'before');
      assertAlternating(logged);
      assert.equal(logged.at(-1), 'redis available again');
    });
  }

  test('without writes the heartbeat notices within two seconds', async (t) => {
    const opened = await open(t);
    if (!opened) return;
    const { redis, logged, untilRedis } = opened;
    await withRedis(redis.port, (client) => client.config('SET', 'maxmemory', '1'));
    await untilRedis(false);
    assert.match(logged.at(-1) ?? '', /^redis unavailable: OOM/);
  });

  test('a key of another type does not make Redis unavailable', async (t) => {
    const opened = await open(t);
    if (!opened) return;
    const { redis, kv, logged } = opened;
    await withRedis(redis.port, (client) => client.lpush('countersign:odd', 'x'));
    await assert.rejects(kv.get('odd'), KvUnavailable);
    await assert.rejects(async () => kv.increment('odd', { ttlMs: 1_000 }), KvUnavailable);
    assert.equal(await kv.get('even'), null);
    assert.deepEqual(logged, []);
  });
});

test('a frozen or killed Redis is logged once as unavailable and once as available again', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, logged, untilRedis } = opened;
  redis.program.kill('SIGSTOP');
  t.after(() => redis.program.kill('SIGCONT'));
  await untilRedis(false);
  for (let round = 0; round < 3; round += 1) await assert.rejects(opened.kv.ping(), KvUnavailable);
  assert.equal(logged.at(-1), 'redis unavailable: no answer within 250 ms; counting limits per process');
  redis.program.kill('SIGCONT');
  await untilRedis(true);
  assert.equal(logged.at(-1), 'redis available again');

  redis.program.kill('SIGKILL');
  await redis.program.ended();
  await untilRedis(false);
  await startRedis(redis.port);
  await untilRedis(true);
  assert.ok(logged.length >= 4, logged.join('\n'));
  assertAlternating(logged);
});

test('a blocked event loop does not count as a slow Redis', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const asked = opened.kv.set('a', '1', { ttlMs: 60_000 });
  await new Promise((resolve) => setImmediate(resolve));
  block(1_000);
  assert.equal(await asked, true);
});

test('without Redis at the start: unavailable, logged once', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis } = opened;
  redis.program.kill('SIGKILL');
  await redis.program.ended();
  const { kv, logged } = await connect(t, redis.url);
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? '', /^redis unavailable: connect ECONNREFUSED/);
  await assert.rejects(kv.ping(), KvUnavailable);
});

const refusedSelects = {
  'that does not exist': { db: 99, says: /^redis unavailable: ERR DB index is out of range/ },
  'that the user may not select': { db: 3, says: /^redis unavailable: NOPERM/ },
};

for (const [which, { db, says }] of Object.entries(refusedSelects))
  test(`with a database ${which}: unavailable, and nothing is written to another one`, async (t) => {
    const redis = await startRedis();
    if (!redis) return skipWithout(t, 'redis-server');
    await withRedis(redis.port, (client) =>
      client.call(
        'acl',
        'setuser',
        'app',
        'on',
        '>secret',
        '~*',
        '&*',
        '+@all',
        ...(db === 3 ? ['-select'] : []),
      ),
    );
    const { kv, logged } = await connect(t, `redis://app:secret@127.0.0.1:${redis.port}/${db}`);
    // Several heartbeats, and attempts to connect.
    for (let round = 0; round < 4; round += 1) {
      await assert.rejects(kv.ping(), KvUnavailable);
      await assert.rejects(kv.set('x', '1', { ttlMs: 60_000 }), KvUnavailable);
      await sleep(800);
    }
    assert.equal(logged.length, 1, logged.join('\n'));
    assert.match(logged[0] ?? '', says);
    assert.equal(await withRedis(redis.port, (client) => client.dbsize()), 0);

    await assert.rejects(
      probeRedis(`redis://app:secret@127.0.0.1:${redis.port}/${db}`, 10_000),
      /ERR DB|NOPERM/,
    );
    if (db !== 3) return;
    await withRedis(redis.port, (client) => client.call('acl', 'setuser', 'app', '+select'));
    await until('Redis answers', () => kv.set('x', '1', { ttlMs: 60_000 }).catch(() => undefined));
    assert.equal(await withRedis(redis.port, (client) => client.exists('countersign:x')), 0);
    assert.equal(
      await withRedis(redis.port, async (client) => {
        await client.select(3);
        return client.exists('countersign:x');
      }),
      1,
    );
  });

test('with Redis at the start the first command works, even when the event loop is blocked', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const { kv, logged } = await connect(t, redis.url);
  // Longer than the heartbeat interval.
  block(1_500);
  assert.equal(await kv.get('x'), null);
  await sleep(1_500);
  // On a busy machine Redis may answer late, which is not tested here.
  assert.deepEqual(
    logged.filter((line) => /connect/.test(line)),
    [],
  );
});

test('a Redis that accepts the connection and never answers delays the start by one second at most', async (t) => {
  const mute = createServer(() => {}).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  t.after(() => mute.close());
  const { port } = mute.address() as AddressInfo;
  const started = performance.now();
  const { kv, logged } = await connect(t, `redis://127.0.0.1:${port}`);
  const waited = performance.now() - started;
  assert.ok(waited > 900, `waited for ${waited} ms`);
  assert.deepEqual(logged, ['redis unavailable: not connected; counting limits per process']);
  await assert.rejects(kv.get('x'), KvUnavailable);
});
