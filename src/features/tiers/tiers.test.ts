import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createTenant, requestToken } from '../../../test/support/scenarios/plans.ts';
import type { Caller } from '../../kernel/caller.ts';
import { createTierService } from './service.ts';

const t = await startApp();
const operator = await t.token();
const unlimited = 2_147_483_647;

const status = (token: string) => t.call('GET', '/api/v1/tiers/status', { token });
const limits = (token: string) => t.call('GET', '/api/v1/usage/limits', { token });
const upgrade = (token: string, payload: object) =>
  t.call('POST', '/api/v1/tiers/upgrade', { token, payload });
const patch = (organizationId: string, payload: object) =>
  t.call('PATCH', `/api/v1/organizations/${organizationId}`, { token: operator, payload });

describe('GET /tiers/status', () => {
  it('200 with exactly the fields of the spec, on the free plan', async () => {
    const tenant = await createTenant(t);
    const { status: code, json } = await status(tenant.token);
    assert.equal(code, 200);
    assert.deepEqual(json, {
      tier: 'free',
      limits: { maxAgents: 25, maxCallsPerDay: 1_000, maxTokensPerDay: 1_000 },
      usage: { agentCount: 1, callsToday: 0, tokensToday: 1 },
    });
  });
  it('200 counts agents, calls and tokens of this organization only, and not itself', async () => {
    const [tenant, other] = [await createTenant(t), await createTenant(t)];
    for (let call = 0; call < 3; call += 1) await t.call('GET', '/api/v1/agents', { token: tenant.token });
    await t.call('GET', '/api/v1/agents', { token: other.token });
    await requestToken(t, tenant);
    await requestToken(t, other);
    const second = await t.agent({ organization_id: tenant.organizationId });
    await t.call('DELETE', `/api/v1/agents/${second.agentId}`, { token: operator });
    for (let look = 0; look < 2; look += 1)
      assert.deepEqual((await status(tenant.token)).json.usage, {
        agentCount: 1,
        callsToday: 3,
        tokensToday: 2,
      });
  });
  it('200 with 2147483647 for no limit', async () => {
    const tenant = await createTenant(t, { planTier: 'enterprise' });
    assert.deepEqual((await status(tenant.token)).json.limits, {
      maxAgents: unlimited,
      maxCallsPerDay: unlimited,
      maxTokensPerDay: unlimited,
    });
    const { json } = await limits(tenant.token);
    assert.deepEqual(new Set(json.limits.map(({ limit }: { limit: number }) => limit)), new Set([unlimited]));
  });
  it("200 with the organization's own limits where it has them, and a changed plan at once", async () => {
    const tenant = await createTenant(t, { planTier: 'pro', maxAgents: 3, maxTokensPerMonth: 7 });
    assert.deepEqual((await status(tenant.token)).json.limits, {
      maxAgents: 3,
      maxCallsPerDay: 100_000,
      maxTokensPerDay: 100_000,
    });
    await patch(tenant.organizationId, { planTier: 'free', maxAgents: null });
    const { json } = await status(tenant.token);
    assert.deepEqual([json.tier, json.limits.maxAgents, json.limits.maxCallsPerDay], ['free', 25, 1_000]);
    const month = (await limits(tenant.token)).json.limits.at(-1);
    assert.deepEqual(
      [month.limitType, month.limit, month.used, month.remaining],
      ['tokens_per_month', 7, 1, 6],
    );
  });
  it('401 UNAUTHORIZED without a token', async () => {
    assert.equal((await t.call('GET', '/api/v1/tiers/status')).json.code, 'UNAUTHORIZED');
  });
});

describe('GET /usage/limits', () => {
  it('200 with each limit, its usage, the rest, and the time of its reset', async () => {
    const tenant = await createTenant(t);
    await t.call('GET', '/api/v1/agents', { token: tenant.token });
    const { status: code, json } = await limits(tenant.token);
    assert.equal(code, 200);
    const day = new Date((Math.floor(t.clock.now() / 86_400_000) + 1) * 86_400_000);
    const today = new Date(t.clock.now());
    const month = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1)).toISOString();
    const midnight = day.toISOString();
    assert.deepEqual(json, {
      tier: 'free',
      limits: [
        { limitType: 'max_agents', limit: 25, used: 1, remaining: 24, resetsAt: null },
        { limitType: 'api_calls_per_day', limit: 1_000, used: 1, remaining: 999, resetsAt: midnight },
        { limitType: 'tokens_per_day', limit: 1_000, used: 1, remaining: 999, resetsAt: midnight },
        { limitType: 'tokens_per_month', limit: 10_000, used: 1, remaining: 9_999, resetsAt: month },
      ],
    });
  });
});

describe('POST /tiers/upgrade', () => {
  it('200 with the URL of a checkout page; the plan stays until it is paid', async () => {
    const tenant = await createTenant(t);
    const { status: code, json } = await upgrade(tenant.token, { target_tier: 'pro' });
    assert.equal(code, 200);
    assert.deepEqual(Object.keys(json), ['checkoutUrl']);
    const { pathname } = new URL(json.checkoutUrl);
    assert.equal((await t.app.http.server.inject({ method: 'GET', url: pathname })).statusCode, 200);
    assert.equal((await status(tenant.token)).json.tier, 'free');
  });
  for (const [planTier, target] of [
    ['pro', 'pro'],
    ['enterprise', 'pro'],
    ['enterprise', 'enterprise'],
  ]) {
    it(`400 TIER_UPGRADE_NOT_REQUIRED from ${planTier} to ${target}`, async () => {
      const tenant = await createTenant(t, { planTier });
      const { status: code, json } = await upgrade(tenant.token, { target_tier: target });
      assert.deepEqual([code, json.code], [400, 'TIER_UPGRADE_NOT_REQUIRED']);
      assert.deepEqual(json.details, { current: planTier, target });
    });
  }
  for (const [what, payload] of [
    ['no target', {}],
    ['the free plan', { target_tier: 'free' }],
    ['an unknown plan', { target_tier: 'gold' }],
    ['a number', { target_tier: 1 }],
    ['null', { target_tier: null }],
    ['an inherited name', { target_tier: '__proto__' }],
    ['a field it does not have', { target_tier: 'pro', organizationId: crypto.randomUUID() }],
  ] as const) {
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const { status: code, json } = await upgrade(operator, payload);
      assert.deepEqual([code, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it('200 with the fields of the checkout', async () => {
    const orders: unknown[] = [];
    const tiers = createTierService(
      {
        checkout: async (caller: Caller, target: string) => {
          orders.push([caller.organizationId, target]);
          return { checkoutUrl: 'https://pay.test/1', sessionId: 's', expiresAt: '' };
        },
      } as never,
      {} as never,
    );
    const answer = await tiers.upgrade({ organizationId: 'home' } as Caller, 'pro');
    assert.equal(answer.checkoutUrl, 'https://pay.test/1');
    assert.deepEqual(orders, [['home', 'pro']]);
  });
});
