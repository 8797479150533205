/** Tokens of organizations without limits are counted after their transaction, each once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import {
  concurrently,
  countByStatus,
  createTenant,
  requestToken,
  type Tenant,
} from '../../../test/support/scenarios/plans.ts';

const t = await startApp({ DATABASE_POOL_SIZE: '10' });

const unlimited = () => createTenant(t, { planTier: 'enterprise' });
const get = async ({ token }: Tenant, path: string) =>
  (await t.call('GET', `/api/v1${path}`, { token })).json;
const patch = async ({ organizationId }: Tenant, payload: object) => {
  const url = `/api/v1/organizations/${organizationId}`;
  assert.equal((await t.call('PATCH', url, { token: await t.token(), payload })).status, 200);
};
/** As stored: in the counters, and not yet in them. */
const stored = async ({ organizationId, agentId }: Tenant) => {
  const [row] = await t.sql(
    `select (select coalesce(sum(tokens), 0)::int from token_hours where organization_id = $1) as hours,
            (select coalesce(sum(tokens), 0)::int from token_months where agent_id = $2) as months,
            (select coalesce(sum(quantity), 0)::int from usage_days
             where agent_id = $2 and metric = 'tokens_issued') as days,
            (select count(*)::int from uncounted_tokens, unnest(agent_ids) as id where id = $2) as uncounted`,
    [organizationId, agentId],
  );
  return row;
};
const counted = (tokens: number) => ({ hours: tokens, months: tokens, days: tokens, uncounted: 0 });

describe('tokens of an organization without limits', () => {
  it('are in every response that shows them, though no counter was written when they were issued', async () => {
    for (const [path, figureOf] of [
      ['/usage?metric=tokens_issued', (json) => json.totals.tokens_issued],
      ['/usage?metric=tokens_issued&groupBy=agent', (json) => json.data[0].quantity],
      ['/usage/limits', (json) => json.limits[2].used],
      ['/tiers/status', (json) => json.usage.tokensToday],
      ['/analytics/tokens', (json) => json.data.at(-1).count],
      ['/analytics/agents', (json) => json.data[0].tokenCount],
      [
        '/analytics/agents/activity',
        (json) => json.data.find(({ count }: { count: number }) => count > 0)?.count,
      ],
      // biome-ignore lint/suspicious/noExplicitAny: responses of several routes.
    ] as [string, (json: any) => unknown][]) {
      const tenant = await unlimited();
      await concurrently(4, () => requestToken(t, tenant));
      assert.deepEqual(await stored(tenant), { ...counted(0), uncounted: 5 });
      assert.equal(figureOf(await get(tenant, path)), 5, path);
      assert.deepEqual(await stored(tenant), counted(5), path);
    }
  });

  it('are in the export, too', async () => {
    const tenant = await unlimited();
    const { text } = await t.call('GET', '/api/v1/usage/export?metric=tokens_issued', {
      token: tenant.token,
    });
    assert.match(text, new RegExp(`,${tenant.agentId},tokens_issued,1\\r\\n$`));
  });

  it('are counted once when many requests count them while others issue', async () => {
    const tenants = [await unlimited(), await unlimited()];
    await concurrently(200, async (index) => {
      if (index % 5 === 0) await t.app.usage.countIssued();
      else await requestToken(t, tenants[index % 2] as Tenant);
    });
    await t.app.usage.countIssued();
    for (const tenant of tenants) assert.deepEqual(await stored(tenant), counted(81));
  });

  it('are counted by a loop', async () => {
    const tenant = await unlimited();
    t.app.loops.start();
    await until('the loop', async () => (await stored(tenant))?.uncounted === 0 || undefined);
    await t.app.loops.stop();
    assert.deepEqual(await stored(tenant), counted(1));
  });

  it('are counted in the hour, day and month in which they were issued', async () => {
    const tenant = await unlimited();
    const before = new Date(t.clock.now()).toISOString();
    t.clock.advance(Date.UTC(Number(before.slice(0, 4)) + 1, 0, 1) - t.clock.now() + 60_000);
    await t.app.audit.prepare();
    await requestToken(t, tenant);
    await t.app.usage.countIssued();
    const hours = await t.sql(
      "select to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24') as hour from token_hours where organization_id = $1 order by 1",
      [tenant.organizationId],
    );
    const now = new Date(t.clock.now()).toISOString();
    const hourOf = (time: string) => ({ hour: time.slice(0, 13).replace('T', ' ') });
    assert.deepEqual(hours, [hourOf(before), hourOf(now)]);
    const months = await t.sql('select month::text from token_months where agent_id = $1 order by 1', [
      tenant.agentId,
    ]);
    assert.deepEqual(months, [{ month: `${before.slice(0, 7)}-01` }, { month: `${now.slice(0, 7)}-01` }]);
  });
});

describe('an organization that gets a limit', () => {
  it('403 unauthorized_client: the limit counts the tokens from before', async () => {
    const tenant = await unlimited();
    await concurrently(4, () => requestToken(t, tenant));
    await patch(tenant, { maxTokensPerMonth: 7 });
    assert.deepEqual(await stored(tenant), counted(5));
    const answers = await concurrently(20, () => requestToken(t, tenant));
    assert.deepEqual(countByStatus(answers), { 200: 2, 403: 18 });
    assert.deepEqual(await stored(tenant), counted(7));
  });

  it('403 unauthorized_client: with a lower plan, and 200 again without a limit', async () => {
    const tenant = await unlimited();
    await t.sql(
      `insert into uncounted_tokens
       select date_trunc('hour', $3::timestamptz, 'UTC'), array_fill($1::uuid, array[999]), array_fill($2::uuid, array[999])`,
      [tenant.organizationId, tenant.agentId, new Date(t.clock.now())],
    );
    await patch(tenant, { planTier: 'free' });
    const { status, json } = await requestToken(t, tenant);
    assert.equal(status, 403);
    assert.match(json.error_description, /1000 tokens of today \(plan: free\)/);
    await patch(tenant, { planTier: 'enterprise' });
    assert.equal((await requestToken(t, tenant)).status, 200);
    assert.deepEqual(await stored(tenant), { ...counted(1_000), uncounted: 1 });
  });
});
