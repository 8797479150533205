/** Plan limits when several processes serve one organization: exact with Redis, enforced per process without it. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createDatabase,
  environment,
  execute,
  newAgent,
  skipWithout,
  withLongConnectTimeout,
} from '../support/harness.ts';
import { type Relay, startRelay } from '../support/peers/relay.ts';
import {
  askToken,
  authorize,
  type Client,
  type Service,
  startRedis,
  startServe,
  until,
  withRedis,
} from '../support/programs.ts';
import {
  concurrently,
  countByStatus,
  insertCallUsage,
  insertTokenUsage,
} from '../support/scenarios/plans.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

interface Tenant extends Client {
  readonly organizationId: string;
  readonly agentId: string;
}

type Address = Pick<Service, 'url'>;

const send = async (
  { url }: Address,
  headers: { authorization: string },
  method: string,
  path: string,
  payload?: object,
) => {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, ...(payload && { 'content-type': 'application/json' }) },
    ...(payload && { body: JSON.stringify(payload) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
};

/** Calls are counted per day: no test may run across midnight. */
async function avoidMidnight() {
  const day = 86_400_000;
  const left = day - (Date.now() % day);
  if (left < 120_000) await sleep(left);
}

/** Two nodes: one in the process of the test, the other as it is started here. */
async function start<Node extends Address>(
  t: TestContext,
  startOther: (env: Record<string, string>) => Promise<Node>,
) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  await avoidMidnight();
  const databaseUrl = await createDatabase();
  const env = environment(databaseUrl, { REDIS_URL: redis.url });
  const one = await startServerInProcess(env);
  const other = await startOther(env);
  const headers = await authorize(one.url, one.operator);
  const sql = <Row>(text: string, values?: unknown[]) => execute<Row>(databaseUrl, text, values);
  const createTenant = async (plan: object = {}): Promise<Tenant> => {
    const organization = { name: 'Tenant', slug: `tenant-${crypto.randomUUID()}`, ...plan };
    const { organizationId } = (await send(one, headers, 'POST', '/organizations', organization)).json;
    const agent = newAgent({ organization_id: organizationId });
    const { agentId } = (await send(one, headers, 'POST', '/agents', agent)).json;
    const made = (await send(one, headers, 'POST', `/agents/${agentId}/credentials`, {})).json;
    return { organizationId, agentId, clientId: made.clientId, clientSecret: made.clientSecret };
  };
  const untilWritten = ({ organizationId }: Tenant, calls: number) =>
    until(`${calls} calls are written`, async () => {
      const [row] = await sql<{ calls: number }>(
        "select sum(quantity)::int as calls from usage_days where organization_id = $1 and metric = 'api_calls'",
        [organizationId],
      );
      return row?.calls === calls || undefined;
    });
  return { redis, env, one, other, headers, sql, createTenant, untilWritten };
}

const startProcess = (env: Record<string, string>) =>
  startServe({ ...env, DATABASE_URL: withLongConnectTimeout(env.DATABASE_URL ?? '') });

const used = async (service: Address, bearer: { authorization: string }): Promise<number> =>
  (await send(service, bearer, 'GET', '/tiers/status')).json.usage.callsToday;

const untilRedisIs = (state: 'ok' | 'away', { url }: Address) =>
  until(`/health says that redis is ${state}`, async () => {
    const { checks } = (await (await fetch(`${url}/health`)).json()) as { checks: { redis: string } };
    return checks.redis === state || undefined;
  });

describe('plan limits in two processes', () => {
  test('exactly one of fifty concurrent calls, tokens or agents gets the last unit of a plan', async (t) => {
    const started = await start(t, startProcess);
    if (!started) return;
    const { one, other, headers, sql, createTenant } = started;
    const either = (index: number) => (index % 2 ? one : other);
    const tenant = await createTenant({ maxAgents: 2 });
    const bearer = await authorize(one.url, tenant);

    await insertCallUsage(sql, tenant, 999, Date.now());
    const calls = await concurrently(50, (index) => send(either(index), bearer, 'GET', '/agents'));
    assert.deepEqual(countByStatus(calls), { 200: 1, 429: 49 });
    assert.equal(calls.find(({ status }) => status === 429)?.json.code, 'tier_limit_exceeded');
    assert.deepEqual([await used(one, bearer), await used(other, bearer)], [1_000, 1_000]);

    await insertTokenUsage(sql, tenant, 998, Date.now());
    const tokens = await concurrently(50, (index) => askToken(either(index).url, tenant));
    assert.deepEqual(countByStatus(tokens), { 200: 1, 403: 49 });

    const agents = await concurrently(50, (index) =>
      send(either(index), headers, 'POST', '/agents', newAgent({ organization_id: tenant.organizationId })),
    );
    assert.deepEqual(countByStatus(agents), { 201: 1, 403: 49 });

    const organization = `/organizations/${tenant.organizationId}`;
    await send(one, headers, 'PATCH', organization, { planTier: 'pro' });
    assert.equal(
      (await send(other, bearer, 'GET', '/agents')).status,
      200,
      'the plan changes everywhere at once',
    );
    assert.equal((await askToken(other.url, tenant)).status, 200);

    // With more units left, exactly that many succeed.
    const capped = await createTenant({ planTier: 'enterprise', maxTokensPerMonth: 101 });
    await authorize(one.url, capped);
    const issued = await concurrently(150, (index) => askToken(either(index).url, capped));
    assert.deepEqual(countByStatus(issued), { 200: 100, 403: 50 });
    const [row] = await sql<{ tokens: number }>(
      'select sum(tokens)::int as tokens from token_months where agent_id = $1',
      [capped.agentId],
    );
    assert.equal(row?.tokens, 101);
  });

  test('counts stay when Redis is flushed or lost, and when a process is killed', async (t) => {
    const started = await start(t, startProcess);
    if (!started) return;
    const { redis, env, one, other, sql, createTenant, untilWritten } = started;
    const tenant = await createTenant();
    const bearer = await authorize(one.url, tenant);
    await insertCallUsage(sql, tenant, 990, Date.now());
    for (const service of [one, other, one, other])
      assert.equal((await send(service, bearer, 'GET', '/agents')).status, 200);
    await untilWritten(tenant, 994);

    await withRedis(redis.port, (client) => client.flushall());
    assert.equal((await send(one, bearer, 'GET', '/agents')).status, 200);
    assert.deepEqual([await used(one, bearer), await used(other, bearer)], [995, 995]);

    other.program.kill('SIGKILL');
    redis.program.kill('SIGKILL');
    await redis.program.ended();
    await untilRedisIs('away', one);
    assert.equal((await send(one, bearer, 'GET', '/agents')).status, 200, 'counted by the process alone');
    assert.equal(await used(one, bearer), 996);

    await startRedis(redis.port);
    await untilRedisIs('ok', one);
    const third = await startServerInProcess(env);
    await untilWritten(tenant, 996);
    const rest = await concurrently(10, (index) => send(index % 2 ? one : third, bearer, 'GET', '/agents'));
    assert.deepEqual(countByStatus(rest), { 200: 4, 429: 6 });
  });

  test('a process that lost Redis reports its own counts once Redis is back', async (t) => {
    let relay: Relay | undefined;
    const started = await start(t, async (env) => {
      relay = await startRelay(Number(new URL(env.REDIS_URL ?? '').port));
      return startServerInProcess({ ...env, REDIS_URL: `redis://127.0.0.1:${relay.port}` });
    });
    if (!started || !relay) return;
    const { one, other: apart, sql, createTenant, untilWritten } = started;
    const tenant = await createTenant();
    const bearer = await authorize(one.url, tenant);
    await insertCallUsage(sql, tenant, 990, Date.now());
    const call = (service: Address) => send(service, bearer, 'GET', '/agents');
    assert.deepEqual(countByStatus([await call(one), await call(apart)]), { 200: 2 });
    relay.cut();
    await untilRedisIs('away', apart);
    assert.deepEqual(countByStatus(await concurrently(3, () => call(apart))), { 200: 3 });
    await relay.restore();
    await untilRedisIs('ok', apart);
    // The process reports with its next call; a busy machine may need a second call to reconnect.
    for (const calls of [995, 996]) {
      await untilWritten(tenant, calls);
      assert.equal((await call(apart)).status, 200);
    }
    assert.deepEqual(countByStatus(await concurrently(10, () => call(one))), { 200: 3, 429: 7 });
  });

  test('limits hold without Redis: exactly in one process, in two by the counts written to PostgreSQL', async (t) => {
    const started = await start(t, startServerInProcess);
    if (!started) return;
    const { redis, one, other, sql, createTenant, untilWritten } = started;
    const tenant = await createTenant();
    const bearer = await authorize(one.url, tenant);
    redis.program.kill('SIGKILL');
    await redis.program.ended();
    await Promise.all([untilRedisIs('away', one), untilRedisIs('away', other)]);
    await insertCallUsage(sql, tenant, 995, Date.now());
    assert.deepEqual(countByStatus(await concurrently(20, () => send(one, bearer, 'GET', '/agents'))), {
      200: 5,
      429: 15,
    });
    await untilWritten(tenant, 1_000);
    const elsewhere = await concurrently(5, () => send(other, bearer, 'GET', '/agents'));
    assert.deepEqual(countByStatus(elsewhere), { 429: 5 }, 'the other looks up what was written');

    await insertTokenUsage(sql, tenant, 998, Date.now());
    const tokens = await concurrently(50, (index) => askToken((index % 2 ? one : other).url, tenant));
    assert.deepEqual(countByStatus(tokens), { 200: 1, 403: 49 }, 'tokens are counted in SQL, and so exactly');
  });
});
