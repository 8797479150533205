import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import {
  createTenant,
  requestToken,
  type Tenant,
  untilMidnight,
  untilNextMonth,
} from '../../../test/support/scenarios/plans.ts';

const t = await startApp();
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const paths = ['/tokens', '/agents/activity', '/agents'];

const get = (path: string, token?: string) =>
  t.call('GET', `/api/v1/analytics${path}`, token === undefined ? {} : { token });
const put = ({ organizationId }: Tenant, time: number, tokens: number, shard = 1) =>
  t.sql("insert into token_hours values ($1, date_trunc('hour', $2::timestamptz, 'UTC'), $3, $4)", [
    organizationId,
    new Date(time).toISOString(),
    shard,
    tokens,
  ]);
const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const total = (data: { count: number }[]) => data.reduce((sum, { count }) => sum + count, 0);

describe('GET /analytics/tokens', () => {
  it('200 with thirty days by default, oldest first, today last, days without tokens as 0', async () => {
    const tenant = await createTenant(t);
    await requestToken(t, tenant);
    const now = t.clock.now();
    await put(tenant, now - 29 * dayMs, 5);
    await put(tenant, now - 29 * dayMs, 6, 2);
    await put(tenant, now - 30 * dayMs, 1_000);
    const { status, json } = await get('/tokens', tenant.token);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json), ['tenantId', 'days', 'data']);
    assert.deepEqual([json.tenantId, json.days, json.data.length], [tenant.organizationId, 30, 30]);
    assert.deepEqual(
      json.data.map(({ date }: { date: string }) => date),
      Array.from({ length: 30 }, (_, day) => dateOf(now - (29 - day) * dayMs)),
    );
    assert.deepEqual(json.data[0], { date: dateOf(now - 29 * dayMs), count: 11 });
    assert.deepEqual(json.data[28], { date: dateOf(now - dayMs), count: 0 });
    assert.deepEqual(json.data[29], { date: dateOf(now), count: 2 });
  });
  it('200 for a single day and for ninety', async () => {
    const tenant = await createTenant(t);
    await put(tenant, t.clock.now() - 89 * dayMs, 3);
    await put(tenant, t.clock.now() - 90 * dayMs, 1_000);
    assert.deepEqual((await get('/tokens?days=1', tenant.token)).json.data, [
      { date: dateOf(t.clock.now()), count: 1 },
    ]);
    const { data } = (await get('/tokens?days=90', tenant.token)).json;
    assert.deepEqual([data.length, data[0].count, total(data)], [90, 3, 4]);
  });
  for (const days of [
    '91',
    '0',
    '-1',
    '1.5',
    '1e1',
    '0x10',
    'all',
    '',
    '999999999999999999999',
    '30&days=30',
  ]) {
    it(`400 VALIDATION_ERROR for days=${days}`, async () => {
      const { status, json } = await get(`/tokens?days=${days}`, await t.token());
      assert.deepEqual([status, json.code, json.details.fields[0].field], [400, 'VALIDATION_ERROR', 'days']);
    });
  }
  it('200 counts a token from just before midnight on the day that ends', async () => {
    const tenant = await createTenant(t);
    t.clock.advance(untilMidnight(t.clock.now()) - 60_000);
    await requestToken(t, tenant);
    t.clock.advance(61_000);
    await requestToken(t, tenant);
    const token = await t.token(undefined, tenant);
    const { data } = (await get('/tokens?days=2', token)).json;
    assert.equal(data[1].count, 2);
    assert.ok(data[0].count >= 1);
  });
});

describe('GET /analytics/agents/activity', () => {
  it('200 with all 168 hours of the week in order, counted over the last 90 days', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    const midnight = Math.floor(t.clock.now() / dayMs) * dayMs;
    const sunday = midnight - new Date(midnight).getUTCDay() * dayMs;
    await put(tenant, sunday - 7 * dayMs, 3);
    await put(tenant, sunday - 14 * dayMs, 4);
    await put(tenant, sunday - dayMs + 23 * hourMs, 9);
    await put(tenant, midnight - 89 * dayMs + 5 * hourMs, 100);
    await put(tenant, midnight - 90 * dayMs, 10_000);
    const { status, json } = await get('/agents/activity', tenant.token);
    assert.equal(status, 200);
    assert.equal(json.tenantId, tenant.organizationId);
    assert.deepEqual(
      json.data.map(({ dow, hour }: { dow: number; hour: number }) => dow * 24 + hour),
      Array.from({ length: 168 }, (_, cell) => cell),
    );
    assert.equal(total(json.data), 3 + 4 + 9 + 100 + 1);
    assert.deepEqual(json.data.at(-1), { dow: 6, hour: 23, count: 9 });
    assert.ok(json.data[0].count >= 7);
    const longAgo = new Date(midnight - 89 * dayMs).getUTCDay();
    assert.ok(json.data[longAgo * 24 + 5].count >= 100);
  });
});

describe('GET /analytics/agents', () => {
  it('200 with the agents that were issued tokens this month, the busiest first', async () => {
    const tenant = await createTenant(t);
    const colleague = await t.agent({ organization_id: tenant.organizationId });
    await t.agent({ organization_id: tenant.organizationId });
    for (let round = 0; round < 3; round += 1) await requestToken(t, colleague);
    const token = await t.token(undefined, tenant);
    const { status, json } = await get('/agents', token);
    assert.equal(status, 200);
    assert.deepEqual(json, {
      tenantId: tenant.organizationId,
      month: dateOf(t.clock.now()).slice(0, 7),
      data: [
        { agentId: colleague.agentId, tokenCount: 3 },
        { agentId: tenant.agentId, tokenCount: 2 },
      ],
    });
  });
  it('200 resets with the month', async () => {
    const tenant = await createTenant(t);
    t.clock.advance(untilNextMonth(t.clock.now()) + 1_000);
    await t.app.audit.prepare();
    const token = await t.token(undefined, tenant);
    const { json } = await get('/agents', token);
    assert.equal(json.month, dateOf(t.clock.now()).slice(0, 7));
    assert.deepEqual(json.data, [{ agentId: tenant.agentId, tokenCount: 1 }]);
  });
});

describe('analytics', () => {
  it("never include another organization's tokens", async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    await put(other, t.clock.now() - dayMs, 77);
    for (let round = 0; round < 4; round += 1) await requestToken(t, other);
    assert.equal(total((await get('/tokens', tenant.token)).json.data), 1);
    assert.equal(total((await get('/agents/activity', tenant.token)).json.data), 1);
    assert.deepEqual((await get('/agents', tenant.token)).json.data, [
      { agentId: tenant.agentId, tokenCount: 1 },
    ]);
  });
  it('404 ROUTE_NOT_FOUND when switched off, with or without a token; the counting continues', async () => {
    const off = await startApp({ ANALYTICS_ENABLED: 'false' });
    const token = await off.token();
    for (const path of [...paths, '/tokens?days=91'])
      for (const as of [{}, { token }]) {
        const { status, json } = await off.call('GET', `/api/v1/analytics${path}`, as);
        assert.deepEqual([status, json.code], [404, 'ROUTE_NOT_FOUND']);
        assert.match(json.message, /switched off/);
      }
    const { json } = await off.call('GET', '/api/v1/tiers/status', { token });
    assert.equal(json.usage.tokensToday, 1);
  });
});
