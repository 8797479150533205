/** Sentinel and Redis Cluster: a primary is lost, and the adapter goes on with its successor. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  type RedisNode,
  redisSecrets,
  startRedisCluster,
  startSentinels,
} from '../../../test/support/deploy/databases/redis-topologies.ts';
import { skipWithout } from '../../../test/support/harness.ts';
import { trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { until } from '../../../test/support/programs.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { type Kv, KvUnavailable } from '../../kernel/ports/kv.ts';
import { createRedisKv } from './redis.ts';

async function connect(t: TestContext, url: string) {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const kv = await createRedisKv(url, log);
  t.after(() => kv.close());
  await untilRedis(kv, true);
  return { kv, lines, messages: () => lines.map((line) => String(JSON.parse(line).msg)) };
}

const untilRedis = (kv: Kv, answers: boolean) =>
  until(`Redis ${answers ? 'answers' : 'is unavailable'}`, async () => {
    const answered = await kv.ping().then(
      () => true,
      () => false,
    );
    return answered === answers || undefined;
  });

/** On a busy machine there may be more than one outage, but the lines alternate. */
function assertOneLinePerChange(messages: readonly string[]): void {
  messages.forEach((line, index) => {
    assert.match(
      line,
      index % 2 === 0 ? /^redis unavailable: / : /^redis available again$/,
      messages.join('\n'),
    );
  });
}

function assertNoSecret(lines: readonly string[]): void {
  for (const secret of redisSecrets) assert.ok(!lines.join('').includes(secret), lines.join(''));
}

const replicated = (node: RedisNode) =>
  until('the replica has the writes', async () => {
    const [, role] = /role:(\w+)/.exec(String(await node.call('INFO', 'replication'))) ?? [];
    const info = String(await node.call('INFO', 'replication'));
    const [, own] = /master_repl_offset:(\d+)/.exec(info) ?? [];
    const [, other] = /slave0:.*offset=(\d+)/.exec(info) ?? [];
    return (role === 'master' && own === other) || undefined;
  });

/** One after the other: the trust is for the whole process. */
describe('Redis with TLS', { concurrency: 1 }, () => {
  for (const [what, startAll] of Object.entries({ Sentinel: startSentinels, Cluster: startRedisCluster }))
    test(`${what}: certificates are checked`, async (t) => {
      const started = await startAll({ tls: true });
      if (!started) return skipWithout(t, 'redis-server');
      const untrusting = await createRedisKv(started.url, createLog({ level: 'silent' }));
      t.after(() => untrusting.close());
      await assert.rejects(untrusting.ping(), KvUnavailable);
      const authorities = getCACertificates('default');
      t.after(() => setDefaultCACertificates(authorities));
      trustTestAuthority();
      const { kv, lines } = await connect(t, started.url);
      const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
      await Promise.all(keys.map((key) => kv.set(key, key, { ttlMs: 600_000 })));
      assert.deepEqual(await kv.getMany(keys), keys);
      assertNoSecret(lines);
    });
});

describe('Redis failover', { concurrency: 3 }, () => {
  for (const [how, signal] of [
    ['killed', 'SIGKILL'],
    ['frozen', 'SIGSTOP'],
  ] as const)
    test(`Sentinel: the primary is ${how}; counters go on at its successor; one line per change`, async (t) => {
      const started = await startSentinels();
      if (!started) return skipWithout(t, 'redis-server');
      const { primary, replica, url } = started;
      const { kv, lines, messages } = await connect(t, url);
      for (let count = 1; count <= 5; count += 1)
        assert.equal(await kv.increment('n', { ttlMs: 600_000 }), count);
      await replicated(primary);

      t.after(() => primary.program.kill('SIGCONT'));
      primary.program.kill(signal);
      await untilRedis(kv, false);
      await assert.rejects(async () => kv.increment('n', { ttlMs: 600_000 }), KvUnavailable);
      await untilRedis(kv, true);
      assert.match(String(await replica.call('INFO', 'replication')), /role:master/);
      assert.ok(Number(await kv.increment('n', { ttlMs: 600_000 })) >= 6, 'the counter goes on');

      // The former primary returns as a replica, and is not used.
      if (signal === 'SIGSTOP') primary.program.kill('SIGCONT');
      else await primary.restart();
      await until(
        'it is a replica',
        async () => /role:slave/.test(String(await primary.call('INFO', 'replication'))) || undefined,
      );
      await untilRedis(kv, true);
      assert.equal(await kv.set('later', 'x', { ttlMs: 60_000 }), true);
      assertOneLinePerChange(messages());
      assertNoSecret(lines);
    });

  test('Sentinel: no sentinel answers at the start: unavailable, later found', async (t) => {
    const started = await startSentinels();
    if (!started) return skipWithout(t, 'redis-server');
    for (const { program } of started.sentinels) program.kill('SIGSTOP');
    t.after(() => {
      for (const { program } of started.sentinels) program.kill('SIGCONT');
    });
    const lines: string[] = [];
    const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
    const kv = await createRedisKv(started.url, log);
    t.after(() => kv.close());
    await assert.rejects(kv.get('x'), KvUnavailable);
    for (const { program } of started.sentinels) program.kill('SIGCONT');
    await untilRedis(kv, true);
    assertOneLinePerChange(lines.map((line) => String(JSON.parse(line).msg)));
    assertNoSecret(lines);
  });

  test('Cluster: a shard moves to its replica; without one, all of Redis is unavailable until it returns', async (t) => {
    const started = await startRedisCluster();
    if (!started) return skipWithout(t, 'redis-server');
    const { primaries, replica, url } = started;
    const { kv, lines, messages } = await connect(t, url);
    const keys = Array.from({ length: 30 }, (_, index) => `counter-${index}`);
    const incrementAll = () => Promise.all(keys.map((key) => kv.increment(key, { ttlMs: 600_000 })));
    assert.deepEqual(new Set(await incrementAll()), new Set([1]));
    const [first, second] = primaries;
    assert.ok(first && second);
    for (const { call } of primaries) assert.ok(Number(await call('DBSIZE')) > 2, 'each shard has keys');
    await replicated(first);

    first.program.kill('SIGKILL');
    await untilRedis(kv, false);
    await untilRedis(kv, true);
    assert.match(String(await replica.call('INFO', 'replication')), /role:master/);
    assert.ok((await incrementAll()).every((value) => value >= 2));
    assertOneLinePerChange(messages());

    const before = messages().length;
    second.program.kill('SIGKILL');
    await untilRedis(kv, false);
    for (let round = 0; round < 5; round += 1) {
      await assert.rejects(kv.ping(), KvUnavailable);
      await assert.rejects(async () => kv.getMany(keys), KvUnavailable);
    }
    assert.equal(messages().length, before + 1, 'no flapping while one shard is missing');
    await second.restart();
    await untilRedis(kv, true);
    assertOneLinePerChange(messages());
    assertNoSecret(lines);
  });

  test('Cluster: one full shard makes all of Redis unavailable, once', async (t) => {
    const started = await startRedisCluster();
    if (!started) return skipWithout(t, 'redis-server');
    const { kv, messages } = await connect(t, started.url);
    const full = started.primaries[2];
    await full?.call('CONFIG', 'SET', 'maxmemory', '1');
    await untilRedis(kv, false);
    for (let round = 0; round < 5; round += 1) await assert.rejects(kv.ping(), KvUnavailable);
    assert.match(messages().at(-1) ?? '', /OOM/);
    await full?.call('CONFIG', 'SET', 'maxmemory', '0');
    await untilRedis(kv, true);
    assertOneLinePerChange(messages());
  });
});
