/** Requests during a failover of Redis, with Sentinel and with Redis Cluster: all are answered, and limits go on. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  type RedisNode,
  redisSecrets,
  startRedisCluster,
  startSentinels,
} from '../support/deploy/databases/redis-topologies.ts';
import { createDatabase, environment, skipWithout, withLongConnectTimeout } from '../support/harness.ts';
import { askToken, authorize, makeOperator, type Service, startServe, until } from '../support/programs.ts';
import { startTraffic } from '../support/traffic.ts';

async function failOver(t: TestContext, started: { url: string; primary: RedisNode; successor: RedisNode }) {
  const { url, primary, successor } = started;
  const env = environment(withLongConnectTimeout(await createDatabase()), {
    REDIS_URL: url,
    LOG_LEVEL: 'info',
  });
  const operator = await makeOperator(env);
  const service = await startServe(env);
  await untilRedisIs('ok', service);
  const headers = await authorize(service.url, operator);
  const traffic = startTraffic([
    () => askToken(service.url, operator),
    () => fetch(`${service.url}/api/v1/agents`, { headers }),
    () => fetch(`${service.url}/readyz`),
  ]);
  await until('fifty answers', async () => traffic.responses().length > 50 || undefined);
  t.after(() => primary.program.kill('SIGCONT'));
  primary.program.kill('SIGKILL');
  await untilRedisIs('away', service);
  await untilRedisIs('ok', service);
  await until(
    'the successor is a primary',
    async () => /role:master/.test(String(await successor.call('INFO', 'replication'))) || undefined,
  );
  const before = traffic.responses().length;
  await until('fifty more', async () => traffic.responses().length > before + 50 || undefined);
  const responses = await traffic.stop();
  assert.deepEqual(new Set(responses.map(({ outcome }) => outcome)), new Set([200]));
  const log = service.program.output();
  const changes = log.split('\n').filter((line) => /redis (un)?available/.test(line));
  changes.forEach((line, index) => {
    assert.match(line, index % 2 === 0 ? /redis unavailable: / : /redis available again/, changes.join('\n'));
  });
  assert.doesNotMatch(log, /\[ioredis\]/, 'the driver prints nothing itself');
  for (const secret of redisSecrets) assert.ok(!log.includes(secret), 'no password in the log');
  return service;
}

const untilRedisIs = (state: 'ok' | 'away', { url, program }: Service) =>
  until(
    `/health says that redis is ${state}`,
    async () => {
      const response = await fetch(`${url}/health`);
      const { checks } = (await response.json()) as { checks: { redis: string } };
      return checks.redis === state || undefined;
    },
    program,
  );

describe('a failover of Redis under load', { concurrency: 2 }, () => {
  test('Sentinel: every request is answered, and the rate windows are counted at the successor', async (t) => {
    const started = await startSentinels();
    if (!started) return skipWithout(t, 'redis-server');
    await failOver(t, { ...started, successor: started.replica });
    const windows = (await started.replica.call('KEYS', 'countersign:window:*')) as unknown[];
    assert.ok(windows.length > 0);
  });

  test('Cluster: every request is answered, and the shard goes on at its replica', async (t) => {
    const started = await startRedisCluster();
    if (!started) return skipWithout(t, 'redis-server');
    const [primary] = started.primaries;
    assert.ok(primary);
    await failOver(t, { url: started.url, primary, successor: started.replica });
  });
});
