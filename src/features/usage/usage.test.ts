import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabase, environment, startApp } from '../../../test/support/harness.ts';
import {
  createTenant,
  requestToken,
  type Tenant,
  untilMidnight,
} from '../../../test/support/scenarios/plans.ts';
import { createApp } from '../../app.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';

const t = await startApp();
const dayMs = 86_400_000;
const dayAgo = (days: number) => new Date(t.clock.now() - days * dayMs).toISOString().slice(0, 10);

const usage = (token: string, query = '') => t.call('GET', `/api/v1/usage${query}`, { token });
const exported = (token: string, query = '') => t.call('GET', `/api/v1/usage/export${query}`, { token });
const put = (
  organizationId: string,
  agentId: string,
  day: string,
  metric: string,
  quantity: number,
  shard = 1,
) =>
  t.sql('insert into usage_days values ($1, $2, $3, $4, $5, $6)', [
    organizationId,
    day,
    metric,
    agentId,
    shard,
    quantity,
  ]);
const none = {
  api_calls: 0,
  tokens_issued: 0,
  token_exchanges: 0,
  delegations_created: 0,
  webhook_deliveries: 0,
  introspections: 0,
};

describe('GET /usage', () => {
  it('200 with current usage; the default period is the last 30 days', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    await t.call('GET', '/api/v1/agents', { token: tenant.token });
    for (let request = 0; request < 2; request += 1)
      await t.form('/api/v1/token/introspect', { token: tenant.token }, tenant.token);
    const { status, json } = await usage(tenant.token);
    assert.equal(status, 200);
    const date = dayAgo(0);
    assert.deepEqual(json, {
      organizationId: tenant.organizationId,
      from: dayAgo(29),
      to: date,
      data: [
        { date, metric: 'api_calls', quantity: 4 },
        { date, metric: 'introspections', quantity: 2 },
        { date, metric: 'tokens_issued', quantity: 1 },
      ],
      totals: { ...none, api_calls: 4, introspections: 2, tokens_issued: 1 },
    });
  });
  it('200 sums the shards, includes both ends of the period, filters by metric and by organization', async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    const colleague = crypto.randomUUID();
    for (const [days, quantity] of [
      [4, 1_000],
      [3, 10],
      [2, 20],
      [1, 2_000],
    ] as const) {
      await put(tenant.organizationId, tenant.agentId, dayAgo(days), 'webhook_deliveries', quantity);
      await put(tenant.organizationId, tenant.agentId, dayAgo(days), 'webhook_deliveries', 1, 2);
      await put(tenant.organizationId, colleague, dayAgo(days), 'webhook_deliveries', 5);
      await put(tenant.organizationId, colleague, dayAgo(days), 'token_exchanges', 7);
      await put(other.organizationId, other.agentId, dayAgo(days), 'webhook_deliveries', 100_000);
    }
    const period = `from=${dayAgo(3)}&to=${dayAgo(2)}&metric=webhook_deliveries`;
    const byDay = (await usage(tenant.token, `?${period}`)).json;
    assert.deepEqual(byDay.data, [
      { date: dayAgo(3), metric: 'webhook_deliveries', quantity: 16 },
      { date: dayAgo(2), metric: 'webhook_deliveries', quantity: 26 },
    ]);
    assert.deepEqual(byDay.totals, { webhook_deliveries: 42 });
    const byAgent = (await usage(tenant.token, `?${period}&groupBy=agent`)).json;
    assert.deepEqual(
      byAgent.data.filter(({ agentId }: { agentId: string }) => agentId === tenant.agentId),
      [
        { date: dayAgo(3), agentId: tenant.agentId, metric: 'webhook_deliveries', quantity: 11 },
        { date: dayAgo(2), agentId: tenant.agentId, metric: 'webhook_deliveries', quantity: 21 },
      ],
    );
    assert.equal(byAgent.data.length, 4);
    assert.deepEqual(byAgent.totals, byDay.totals);
  });
  it('200 for a period of 90 days, for times in any zone, and for a period without usage', async () => {
    const { token } = await createTenant(t);
    const full = await usage(token, `?from=${dayAgo(90)}&to=${dayAgo(0)}`);
    assert.deepEqual([full.status, full.json.from], [200, dayAgo(90)]);
    const zoned = await usage(token, '?from=2026-03-01T23:30:00-01:00&to=2026-03-05T00:30:00%2B01:00');
    assert.deepEqual([zoned.json.from, zoned.json.to], ['2026-03-02', '2026-03-04']);
    const past = (await usage(token, '?to=2020-02-29')).json;
    assert.deepEqual([past.from, past.to, past.data, past.totals], ['2020-01-31', '2020-02-29', [], none]);
    assert.equal((await usage(token, '?unknown=ignored')).status, 200);
  });
  for (const [what, query, field] of [
    ['days that are 91 days apart', `?from=${dayAgo(91)}&to=${dayAgo(0)}`, 'from'],
    ['a beginning after the end', `?from=${dayAgo(1)}&to=${dayAgo(2)}`, 'from'],
    ['a beginning in the future', `?from=${dayAgo(-2)}`, 'from'],
    ['no date', '?from=yesterday', 'from'],
    ['a time without a zone', '?from=2026-01-01T00:00:00', 'from'],
    ['the 31st of April', '?to=2026-04-31', 'to'],
    ['the year 0', '?to=0000-01-01', 'to'],
    ['the year 9999', '?to=9999-12-31', 'to'],
    ['the year 275760', '?to=%2B275760-09-13', 'to'],
    ['an empty date', '?to=', 'to'],
    ['a date twice', '?to=2026-01-01&to=2026-01-02', 'to'],
    ['an unknown metric', '?metric=bytes', 'metric'],
    ['an inherited name', '?metric=__proto__', 'metric'],
    ['an unknown grouping', '?groupBy=metric', 'groupBy'],
  ] as const) {
    it(`400 VALIDATION_ERROR naming ${field}, for ${what}`, async () => {
      const { status, json } = await usage(await t.token(), query);
      assert.deepEqual([status, json.code, json.details.fields[0].field], [400, 'VALIDATION_ERROR', field]);
    });
  }
  it('400 VALIDATION_ERROR for more than 10,000 rows, which /usage/export gives', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    await t.sql(
      `insert into usage_days select $1, (now() at time zone 'UTC')::date, 'webhook_deliveries', gen_random_uuid(), shard, 1
       from generate_series(1, 10001), generate_series(1, 1) shard`,
      [tenant.organizationId],
    );
    const query = '?groupBy=agent&metric=webhook_deliveries';
    const { status, json } = await usage(tenant.token, query);
    assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    assert.match(json.message, /usage\/export/);
    const { text } = await exported(tenant.token, '?metric=webhook_deliveries');
    const lines = text.trimEnd().split('\r\n');
    assert.equal(lines.length, 10_002);
    assert.equal(new Set(lines).size, lines.length);
  });
});

describe('GET /usage/agents', () => {
  const byAgent = (token: string, query = '') => t.call('GET', `/api/v1/usage/agents${query}`, { token });
  it('200 with the sums of the period, most calls first, of the own organization only', async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    const [quiet, busy] = [crypto.randomUUID(), crypto.randomUUID()];
    const { organizationId } = tenant;
    await put(organizationId, busy, dayAgo(3), 'api_calls', 30);
    await put(organizationId, busy, dayAgo(2), 'api_calls', 12, 2);
    await put(organizationId, busy, dayAgo(2), 'introspections', 4);
    await put(organizationId, quiet, dayAgo(2), 'tokens_issued', 9);
    await put(organizationId, busy, dayAgo(9), 'api_calls', 1_000);
    await put(other.organizationId, other.agentId, dayAgo(2), 'api_calls', 5_000);
    const period = `from=${dayAgo(3)}&to=${dayAgo(1)}`;
    const { status, json } = await byAgent(tenant.token, `?${period}`);
    assert.equal(status, 200);
    assert.deepEqual(json, {
      data: [
        { agentId: busy, totals: { ...none, api_calls: 42, introspections: 4 } },
        { agentId: quiet, totals: { ...none, tokens_issued: 9 } },
      ],
      total: 2,
      page: 1,
      limit: 20,
    });
    const second = (await byAgent(tenant.token, `?${period}&limit=1&page=2`)).json;
    assert.deepEqual([second.total, second.data.map(({ agentId }: Tenant) => agentId)], [2, [quiet]]);
    const tokens = (await byAgent(tenant.token, `?${period}&metric=tokens_issued`)).json;
    assert.deepEqual(tokens.data, [{ agentId: quiet, totals: { tokens_issued: 9 } }]);
  });
  it('200 for more agents, days and metrics than one answer of GET /usage can have', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    await t.sql(
      `insert into usage_days select $1, $2::date - day, 'webhook_deliveries', agent, 1, 1
       from (select gen_random_uuid() as agent from generate_series(1, 600)) agents, generate_series(1, 20) day`,
      [tenant.organizationId, dayAgo(0)],
    );
    const seen = new Set<string>();
    for (let page = 1; page <= 7; page += 1) {
      const { json } = await byAgent(
        tenant.token,
        `?metric=webhook_deliveries&to=${dayAgo(1)}&limit=100&page=${page}`,
      );
      assert.equal(json.total, 600);
      for (const { agentId, totals } of json.data) {
        assert.deepEqual(totals, { webhook_deliveries: 20 });
        seen.add(agentId);
      }
    }
    assert.equal(seen.size, 600);
  });
  it('400 VALIDATION_ERROR for days that are 91 days apart, and for a limit of 101', async () => {
    for (const query of [`?from=${dayAgo(91)}&to=${dayAgo(0)}`, '?limit=101', '?metric=bytes', '?page=0']) {
      const { status, json } = await byAgent(await t.token(), query);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], query);
    }
  });
});

describe('GET /usage/export', () => {
  it('200 CSV with a header, as an attachment', async () => {
    const tenant = await createTenant(t);
    await put(tenant.organizationId, tenant.agentId, dayAgo(1), 'webhook_deliveries', 12);
    const { status, headers, text } = await exported(tenant.token, `?from=${dayAgo(1)}&to=${dayAgo(0)}`);
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8');
    assert.equal(
      headers['content-disposition'],
      `attachment; filename="usage-${dayAgo(1)}-${dayAgo(0)}.csv"`,
    );
    assert.deepEqual(text.split('\r\n'), [
      'date,agentId,metric,quantity',
      `${dayAgo(1)},${tenant.agentId},webhook_deliveries,12`,
      `${dayAgo(0)},${tenant.agentId},api_calls,1`,
      `${dayAgo(0)},${tenant.agentId},tokens_issued,1`,
      '',
    ]);
  });
  it('200 without a body for HEAD, and an empty file without usage', async () => {
    const tenant = await createTenant(t);
    const head = await t.call('HEAD', '/api/v1/usage/export', { token: tenant.token });
    assert.deepEqual([head.status, head.text], [200, '']);
    const never = '?from=2020-01-01&to=2020-01-02';
    assert.equal((await exported(tenant.token, never)).text, 'date,agentId,metric,quantity\r\n');
    assert.deepEqual([(await exported(tenant.token, `${never}&format=jsonl`)).text], ['']);
  });
  it('200 JSON lines', async () => {
    const tenant = await createTenant(t);
    const { headers, text } = await exported(tenant.token, '?format=jsonl&metric=tokens_issued');
    assert.match(String(headers['content-type']), /^application\/x-ndjson/);
    assert.match(String(headers['content-disposition']), /\.jsonl"$/);
    assert.deepEqual(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [{ date: dayAgo(0), agentId: tenant.agentId, metric: 'tokens_issued', quantity: 1 }],
    );
  });
  it('400 VALIDATION_ERROR for another format and a period too long', async () => {
    const token = await t.token();
    for (const query of ['?format=xml', `?from=${dayAgo(91)}`])
      assert.equal((await exported(token, query)).json.code, 'VALIDATION_ERROR');
  });
  it('500 INTERNAL_SERVER_ERROR, and no truncated file, when the table cannot be read', async () => {
    const tenant = await createTenant(t);
    await t.sql('alter table usage_days rename to usage_days_away');
    const { status, json } = await exported(tenant.token);
    await t.sql('alter table usage_days_away rename to usage_days');
    assert.deepEqual([status, json.code], [500, 'INTERNAL_SERVER_ERROR']);
  });
});

describe('counting', () => {
  it('survives a restart: nothing is lost at a graceful shutdown', async () => {
    const databaseUrl = await createDatabase();
    const config = loadConfig(environment(databaseUrl));
    const log = createLog({ level: 'silent' });
    const first = await createApp({ config, log });
    await first.prepare();
    const [organizationId, agentId] = [crypto.randomUUID(), crypto.randomUUID()];
    for (let call = 0; call < 7; call += 1) first.usage.count(organizationId, agentId, 'api_calls');
    await first.close();
    const second = await createApp({ config, log });
    assert.equal(await second.usage.callsOn(organizationId, Date.now()), 7);
    await second.close();
  });
  it('stays in memory while the table cannot be written, and is written afterwards', async () => {
    const tenant = await createTenant(t);
    await t.app.usage.flush();
    await t.sql('alter table usage_days rename to usage_days_away');
    t.app.usage.count(tenant.organizationId, tenant.agentId, 'webhook_deliveries', 3);
    await assert.rejects(t.app.usage.flush());
    t.app.usage.count(tenant.organizationId, tenant.agentId, 'webhook_deliveries');
    await t.sql('alter table usage_days_away rename to usage_days');
    const { json } = await usage(tenant.token, '?metric=webhook_deliveries');
    assert.deepEqual(json.totals, { webhook_deliveries: 4 });
  });
  it('writes one row for a day, agent and metric, however many calls', async () => {
    const tenant = await createTenant(t);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, () => t.call('GET', '/api/v1/agents', { token: tenant.token })),
      );
      await t.app.usage.flush();
    }
    const rows = await t.sql<{ quantity: string }>(
      "select quantity from usage_days where organization_id = $1 and metric = 'api_calls'",
      [tenant.organizationId],
    );
    assert.deepEqual(rows, [{ quantity: '60' }]);
  });
});

describe('compaction', () => {
  const compact = async () => {
    const loop = t.app.usage.loops.find(({ name }) => name === 'usage-compact');
    await loop?.run(new AbortController().signal);
  };
  const sums = async ({ organizationId }: Tenant) =>
    t.sql(
      `select 'days' as what, count(*)::int as rows, sum(quantity)::int as total from usage_days where organization_id = $1
       union all select 'hours', count(*)::int, sum(tokens)::int from token_hours where organization_id = $1
       union all select 'months', count(*)::int, sum(tokens)::int from token_months where organization_id = $1`,
      [organizationId],
    );
  it('merges the shards of past rows, leaves current ones, and changes no sum', async () => {
    const tenant = await createTenant(t);
    await requestToken(t, tenant);
    await t.app.usage.flush();
    for (const shard of [0, 1, 2, 3]) {
      await put(tenant.organizationId, tenant.agentId, dayAgo(60), 'api_calls', 10, shard);
      const values = [tenant.organizationId, `${dayAgo(60)}T10:00:00Z`, shard];
      await t.sql('insert into token_hours values ($1, $2, $3, 5)', values);
      const month = `${dayAgo(100).slice(0, 7)}-01`;
      await t.sql('insert into token_months values ($1, $2, $3, $4, 7)', [
        tenant.organizationId,
        month,
        tenant.agentId,
        shard,
      ]);
    }
    assert.deepEqual(await sums(tenant), [
      { what: 'days', rows: 5, total: 42 },
      { what: 'hours', rows: 5, total: 22 },
      { what: 'months', rows: 5, total: 30 },
    ]);
    // Of two concurrent runs, each may skip a step while the other holds the lock.
    await Promise.all([compact(), compact()]);
    await compact();
    assert.deepEqual(await sums(tenant), [
      { what: 'days', rows: 2, total: 42 },
      { what: 'hours', rows: 2, total: 22 },
      { what: 'months', rows: 2, total: 30 },
    ]);
    t.clock.advance(400 * dayMs);
    await compact();
    assert.deepEqual(await sums(tenant), [
      { what: 'days', rows: 0, total: null },
      { what: 'hours', rows: 0, total: null },
      { what: 'months', rows: 0, total: null },
    ]);
    t.clock.advance(-400 * dayMs);
  });
});

describe('days', () => {
  it('change at midnight UTC', async () => {
    const tenant = await createTenant(t);
    t.clock.advance(untilMidnight(t.clock.now()) - 60_000);
    const token = await t.token(undefined, tenant);
    const [before] = [dayAgo(0), await t.call('GET', '/api/v1/agents', { token })];
    t.clock.advance(61_000);
    await t.call('GET', '/api/v1/agents', { token });
    const { json } = await usage(token, '?metric=api_calls');
    assert.deepEqual(json.data, [
      { date: before, metric: 'api_calls', quantity: 1 },
      { date: dayAgo(0), metric: 'api_calls', quantity: 2 },
    ]);
  });
});
