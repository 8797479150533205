/** Redis is a cache and a shared counter: requests succeed without it or with a slow one. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import {
  askToken,
  authorize,
  makeOperator,
  type Service,
  startRedis,
  startServe,
  until,
  withRedis,
} from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';
import { startTraffic } from '../support/traffic.ts';

/** The server runs in the process of the test. */
async function startWithRedis(t: TestContext, changes: Record<string, string> = {}) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const env = environment(await createDatabase(), { REDIS_URL: redis.url, ...changes });
  const service = await startServerInProcess(env);
  await untilRedisIs('ok', service);
  return { redis, operator: service.operator, service };
}

const untilRedisIs = (state: 'ok' | 'away', { url }: Pick<Service, 'url'>) =>
  until(`/health says that redis is ${state}`, async () => {
    const response = await fetch(`${url}/health`);
    const { status, checks } = (await response.json()) as { status: string; checks: { redis: string } };
    assert.deepEqual([response.status, status], [200, 'ok']);
    return checks.redis === state || undefined;
  });

/** How many rate windows Redis holds. */
const windowsIn = async (port: number): Promise<number> =>
  (await withRedis(port, (redis) => redis.keys('countersign:window:*'))).length;

describe('Redis', { concurrency: 2 }, () => {
  test('no request fails or hangs when it is killed under load; it is used again after a restart', async (t) => {
    const started = await startWithRedis(t);
    if (!started) return;
    const { redis, operator, service } = started;
    const headers = await authorize(service.url, operator);
    const traffic = startTraffic([
      () => askToken(service.url, operator),
      () => fetch(`${service.url}/api/v1/agents`, { headers }),
      () => fetch(`${service.url}/health`),
    ]);
    await until('Redis counts', async () => (await windowsIn(redis.port)) > 0 || undefined);
    await sleep(500);
    const usual = traffic.slowest();

    redis.program.kill('SIGKILL');
    await redis.program.ended();
    await untilRedisIs('away', service);
    await sleep(1_500);

    // It starts empty; the service may reconnect before this test does.
    await startRedis(redis.port);
    await untilRedisIs('ok', service);
    await until('Redis counts again', async () => (await windowsIn(redis.port)) > 0 || undefined);

    await until('fifty requests are answered', async () => traffic.responses().length > 50 || undefined);
    const exchanges = await traffic.stop();
    for (const { outcome, ms } of exchanges) {
      assert.equal(outcome, 200);
      assert.ok(ms < usual + 20_000, `answered in ${ms} ms, usually within ${usual}`);
    }
  });

  test('requests are delayed for a bounded time while it does not respond; it is used again afterwards', async (t) => {
    const started = await startWithRedis(t);
    if (!started) return;
    const { redis, operator, service } = started;
    const headers = await authorize(service.url, operator);
    const traffic = startTraffic([
      () => askToken(service.url, operator),
      () => fetch(`${service.url}/api/v1/agents`, { headers }),
    ]);
    await sleep(1_000);
    const usual = traffic.slowest();

    const before = traffic.responses().length;
    redis.program.kill('SIGSTOP');
    t.after(() => redis.program.kill('SIGCONT'));
    await sleep(4_000);
    await untilRedisIs('away', service);
    await until(
      'twenty more are answered',
      async () => traffic.responses().length > before + 20 || undefined,
    );
    const exchanges = await traffic.stop();
    assert.deepEqual(new Set(exchanges.map(({ outcome }) => outcome)), new Set([200]));
    const waits = exchanges
      .slice(before)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b);
    const median = waits[Math.floor(waits.length / 2)] ?? 0;
    const bearable = Math.max(usual, 2_000) + 3_000;
    assert.ok(median < bearable, `held up for ${median} ms as a rule, usually ${usual} at the most`);
    assert.ok((waits.at(-1) ?? 0) < usual + 20_000, `held up for ${waits.at(-1)} ms, usually ${usual}`);

    redis.program.kill('SIGCONT');
    await untilRedisIs('ok', service);
  });

  test('429 without Redis: the process counts alone', async (t) => {
    const started = await startWithRedis(t, { RATE_LIMIT_PER_MINUTE: '10' });
    if (!started) return;
    const { redis, operator, service } = started;
    const headers = await authorize(service.url, operator);
    redis.program.kill('SIGKILL');
    await redis.program.ended();
    const statuses: number[] = [];
    const remaining: number[] = [];
    // More than twice the limit: the minute may end once in between and reset the count.
    while (statuses.length < 25 && statuses.at(-1) !== 429) {
      const response = await fetch(`${service.url}/api/v1/agents`, { headers });
      await response.arrayBuffer();
      statuses.push(response.status);
      remaining.push(Number(response.headers.get('x-ratelimit-remaining')));
    }
    assert.equal(statuses.pop(), 429);
    assert.ok(statuses.length >= 9, `the limit is 10, and ${statuses.length} passed`);
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(remaining.at(-1), 0);
  });

  test('200 when its values are junk: they count as missing', async (t) => {
    const started = await startWithRedis(t);
    if (!started) return;
    const { redis, operator, service } = started;
    const headers = await authorize(service.url, operator);
    const paths = [`/agents/${operator.clientId}`, '/compliance/report', '/tiers/status', '/agents'];
    const askAll = () => Promise.all(paths.map((path) => fetch(`${service.url}/api/v1${path}`, { headers })));
    for (const junk of ['junk', '{}', 'null', '', '[1]']) {
      await askAll();
      await withRedis(redis.port, async (client) => {
        const kept = (await client.keys('countersign:*')).filter((key) => !/window|calls/.test(key));
        assert.ok(
          kept.some((key) => key.includes('compliance')) && kept.some((key) => key.includes('agent')),
        );
        for (const key of kept) await client.set(key, junk, 'PX', 60_000);
      });
      const answers = await askAll();
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual(statuses, [200, 200, 200, 200], `for ${JSON.stringify(junk)}`);
      await withRedis(redis.port, (client) => client.flushall());
    }
  });

  test('the log has no connection warning when it is available at the start', async (t) => {
    const started = await startWithRedis(t, { LOG_LEVEL: 'info' });
    if (!started) return;
    const { redis, service } = started;
    assert.notEqual(service.log(), '');
    assert.doesNotMatch(service.log(), /redis unavailable/);
    redis.program.kill('SIGKILL');
    await untilRedisIs('away', service);
    assert.match(service.log(), /redis unavailable: \S/);
  });

  test('the service starts without it, connects later, and stops without it', async (t) => {
    const redis = await startRedis();
    if (!redis) return skipWithout(t, 'redis-server');
    redis.program.kill('SIGKILL');
    await redis.program.ended();
    const env = environment(await createDatabase(), { REDIS_URL: redis.url });
    const operator = await makeOperator(env);
    const service = await startServe(env);
    await untilRedisIs('away', service);
    assert.equal((await askToken(service.url, operator)).status, 200);

    const late = await startRedis(redis.port);
    await untilRedisIs('ok', service);
    assert.equal((await askToken(service.url, operator)).status, 200);
    assert.ok((await windowsIn(redis.port)) > 0);

    late?.program.kill('SIGKILL');
    await untilRedisIs('away', service);
    service.program.kill('SIGTERM');
    assert.equal(await service.program.gone(), 0, service.program.output());
  });
});
