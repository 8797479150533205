import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import {
  concurrently,
  countByStatus,
  createTenant,
  insertCallUsage,
  type Tenant,
  untilMidnight,
} from '../../../test/support/scenarios/plans.ts';

const t = await startApp();
const limit = 1_000;

const list = (tenant: Tenant, token = tenant.token) => t.call('GET', '/api/v1/agents', { token });
const callsToday = async (tenant: Tenant, token = tenant.token): Promise<number> =>
  (await t.call('GET', '/api/v1/tiers/status', { token })).json.usage.callsToday;
const patch = async (tenant: Tenant, payload: object) => {
  const url = `/api/v1/organizations/${tenant.organizationId}`;
  assert.equal((await t.call('PATCH', url, { token: await t.token(), payload })).status, 200);
};
const metric = async (name: string, labels: string) => {
  const { text } = await t.call('GET', '/metrics');
  return Number(new RegExp(`^${name}\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};

describe('the daily limit of API calls', () => {
  it('429 tier_limit_exceeded: of fifty concurrent calls, one before the limit, exactly one passes', async () => {
    const tenant = await createTenant(t);
    await insertCallUsage(t.sql, tenant, limit - 1, t.clock.now());
    const answers = await concurrently(50, () => list(tenant));
    assert.deepEqual(countByStatus(answers), { 200: 1, 429: 49 });
    const refused = answers.find(({ status }) => status === 429);
    const now = t.clock.now();
    const seconds = Math.ceil(untilMidnight(now) / 1000);
    assert.equal(refused?.json.code, 'tier_limit_exceeded');
    assert.deepEqual(refused?.json.details, {
      tier: 'free',
      limitType: 'api_calls_per_day',
      limit,
      resetsAt: new Date(now + untilMidnight(now)).toISOString(),
    });
    assert.match(refused?.json.message, /1000 API calls.*plan: free.*anew at/);
    assert.ok(Math.abs(Number(refused?.headers['retry-after']) - seconds) <= 60);
    assert.equal(refused?.headers['x-ratelimit-remaining'], '0');
    assert.equal(
      Number(refused?.headers['x-ratelimit-reset']) * 1000,
      Date.parse(refused?.json.details.resetsAt),
    );
    assert.equal(await callsToday(tenant), limit, 'what was refused is not counted');
    const { organizationId } = tenant;
    assert.equal(await metric('service_tenant_api_calls_total', `org_id="${organizationId}",tier="free"`), 1);
    const rejected = `org_id="${organizationId}",limit_type="api_calls_per_day"`;
    assert.equal(await metric('service_billing_limit_rejections_total', rejected), 49);
  });
  it('200 on the routes that show and upgrade the plan, which are not counted either', async () => {
    const tenant = await createTenant(t);
    await insertCallUsage(t.sql, tenant, limit, t.clock.now());
    assert.equal((await list(tenant)).status, 429);
    const { token } = tenant;
    assert.equal((await t.call('GET', '/api/v1/tiers/status', { token })).status, 200);
    assert.equal((await t.call('GET', '/api/v1/usage/limits', { token })).status, 200);
    const payload = { target_tier: 'pro' };
    assert.equal((await t.call('POST', '/api/v1/tiers/upgrade', { token, payload })).status, 200);
    assert.equal((await t.call('GET', '/api/v1/usage', { token })).status, 429);
    assert.equal(await callsToday(tenant), limit);
  });
  it('200 and 204 for revocation and deletion when the calls of the day are used up', async () => {
    const tenant = await createTenant(t);
    const home = { organization_id: tenant.organizationId };
    const [compromised, deleted] = [await t.agent(home), await t.agent(home)];
    const stolen = await t.token('agents:read', compromised);
    await insertCallUsage(t.sql, tenant, limit, t.clock.now());
    const { token } = tenant;
    assert.equal((await list(tenant)).status, 429);
    assert.equal((await t.form('/api/v1/token/revoke', { token: stolen }, token)).status, 200);
    const [credential] = await t.sql<{ credential_id: string }>(
      'select credential_id from credentials where agent_id = $1',
      [compromised.agentId],
    );
    const url = `/api/v1/agents/${compromised.agentId}/credentials/${credential?.credential_id}`;
    assert.equal((await t.call('DELETE', url, { token })).status, 204);
    assert.equal((await t.call('DELETE', `/api/v1/agents/${deleted.agentId}`, { token })).status, 204);
    for (const { clientId: client_id, clientSecret: client_secret } of [compromised, deleted])
      assert.notEqual(
        (await t.askToken({ grant_type: 'client_credentials', client_id, client_secret })).status,
        200,
      );
  });
  it('counts failed calls too, but none without authentication and none on open routes', async () => {
    const tenant = await createTenant(t);
    const { token } = tenant;
    const expected = [
      [await list(tenant), 200],
      [await t.call('GET', '/api/v1/agents?limit=1000', { token }), 400],
      [await t.call('GET', `/api/v1/agents/${crypto.randomUUID()}`, { token }), 404],
      [await t.call('POST', '/api/v1/organizations', { token, payload: {} }), 403],
    ] as const;
    for (const [answer, status] of expected) assert.equal(answer.status, status);
    await t.call('GET', '/health', { token });
    await t.call('GET', '/api/v1/nowhere', { token });
    await t.call('GET', '/api/v1/agents', { token: `${token}x` });
    assert.equal(await callsToday(tenant), expected.length);
  });
  it('resets at midnight UTC', async () => {
    const tenant = await createTenant(t);
    t.clock.advance(untilMidnight(t.clock.now()) - 60_000);
    const late = await t.token(undefined, tenant);
    await insertCallUsage(t.sql, tenant, limit, t.clock.now());
    const refused = await list(tenant, late);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) <= 60);
    t.clock.advance(61_000);
    assert.equal((await list(tenant, late)).status, 200);
    assert.equal(await callsToday(tenant, late), 1);
  });
  it('follows a change of plan at once, either way, and keeps the count', async () => {
    const tenant = await createTenant(t);
    const token = await t.token(undefined, tenant);
    const now = t.clock.now();
    await insertCallUsage(t.sql, tenant, limit - 1, now);
    assert.deepEqual(countByStatus([await list(tenant, token), await list(tenant, token)]), {
      200: 1,
      429: 1,
    });
    await patch(tenant, { planTier: 'enterprise' });
    assert.deepEqual(countByStatus(await concurrently(10, () => list(tenant, token))), { 200: 10 });
    await patch(tenant, { planTier: 'free' });
    assert.equal((await list(tenant, token)).status, 429);
    assert.equal(await callsToday(tenant, token), limit + 10);
    await patch(tenant, { planTier: 'pro' });
    assert.equal((await list(tenant, token)).status, 200);
  });
  it('includes earlier unlimited calls after a change to a limited plan', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    await insertCallUsage(t.sql, tenant, limit - 3, t.clock.now());
    await concurrently(3, () => list(tenant));
    await patch(tenant, { planTier: 'free' });
    assert.equal((await list(tenant)).status, 429);
  });
  it("one organization's calls do not count against another", async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    await insertCallUsage(t.sql, tenant, limit, t.clock.now());
    assert.deepEqual([(await list(tenant)).status, (await list(other)).status], [429, 200]);
  });
  it('403 ORG_SUSPENDED comes before the limit', async () => {
    const tenant = await createTenant(t);
    await insertCallUsage(t.sql, tenant, limit, t.clock.now());
    await patch(tenant, { status: 'suspended' });
    assert.equal((await list(tenant)).json.code, 'ORG_SUSPENDED');
  });
});
