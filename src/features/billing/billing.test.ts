import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createBillingClient } from '../../../test/support/scenarios/billing.ts';

const t = await startApp();
const {
  createOrganization,
  checkout,
  page,
  confirm,
  subscription,
  cancel,
  tier,
  auditEvents,
  asOperator,
  operator,
} = await createBillingClient(t);
const actionsOf = async (organizationId: string) =>
  (await auditEvents(organizationId)).map(({ action }) => action);

describe('GET /billing/subscription', () => {
  it('200 none before the first order', async () => {
    const { organizationId, member } = await createOrganization();
    const { updatedAt, ...rest } = await subscription(member);
    assert.match(updatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(rest, {
      organizationId,
      tier: 'free',
      status: 'none',
      provider: 'embedded',
      currentPeriodEnd: null,
      cancelAtPeriodEnd: false,
    });
  });
  it('200 none, with the plan that the operator has set', async () => {
    const { member } = await createOrganization({ planTier: 'enterprise' });
    const { tier, status } = await subscription(member);
    assert.deepEqual([tier, status], ['enterprise', 'none']);
  });
  it('404 ORG_NOT_FOUND for another organization, which the operator may see', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()];
    const url = `/api/v1/billing/subscription?organization_id=${other.organizationId.toUpperCase()}`;
    assert.equal((await t.call('GET', url, { token: one.admin })).json.code, 'ORG_NOT_FOUND');
    assert.equal((await t.call('GET', url, { token: operator })).json.organizationId, other.organizationId);
    const unknown = `/api/v1/billing/subscription?organization_id=${randomUUID()}`;
    assert.equal((await t.call('GET', unknown, { token: operator })).json.code, 'ORG_NOT_FOUND');
    const malformed = await t.call('GET', '/api/v1/billing/subscription?organization_id=x', {
      token: operator,
    });
    assert.deepEqual([malformed.status, malformed.json.code], [400, 'VALIDATION_ERROR']);
  });
});

describe('POST /billing/checkout', () => {
  it('200 with a URL, an id and an expiry in half an hour; the plan is unchanged', async () => {
    const { organizationId, member, memberId } = await createOrganization();
    const { status, json, headers } = await checkout(member, 'pro');
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json).sort(), ['checkoutUrl', 'expiresAt', 'sessionId']);
    assert.match(json.checkoutUrl, /^http:\/\/countersign\.test\/billing\/checkout\/bs_[\w-]{43}$/);
    const minutes = (Date.parse(json.expiresAt) - t.clock.now()) / 60_000;
    assert.ok(minutes > 29 && minutes <= 30, String(minutes));
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(await tier(organizationId), 'free');
    const [started, ...others] = await auditEvents(organizationId);
    assert.deepEqual(others, []);
    assert.deepEqual([started?.action, started?.agent_id], ['billing.checkout_started', memberId]);
    assert.equal(started?.metadata.targetTier, 'pro');
    const token = json.checkoutUrl.split('/').at(-1);
    assert.ok(!JSON.stringify(started).includes(token));
    const rows = await t.sql<{ row: string }>('select row_to_json(x)::text as row from billing_sessions x');
    assert.ok(rows.length > 0 && rows.every(({ row }) => !row.includes(token)));
  });
  for (const [planTier, target, answer] of [
    ['pro', 'pro', '400 TIER_UPGRADE_NOT_REQUIRED'],
    ['enterprise', 'pro', '400 TIER_UPGRADE_NOT_REQUIRED'],
    ['enterprise', 'enterprise', '400 TIER_UPGRADE_NOT_REQUIRED'],
    ['free', 'free', '400 VALIDATION_ERROR'],
    ['free', 'gold', '400 VALIDATION_ERROR'],
    ['free', '__proto__', '400 VALIDATION_ERROR'],
  ] as const) {
    it(`${answer} from ${planTier} to ${target}`, async () => {
      const { organizationId, member } = await createOrganization({ planTier });
      const { status, json } = await checkout(member, target);
      assert.equal(`${status} ${json.code}`, answer);
      if (json.code === 'TIER_UPGRADE_NOT_REQUIRED')
        assert.deepEqual(json.details, { current: planTier, target });
      assert.deepEqual(await actionsOf(organizationId), []);
    });
  }
  for (const [what, payload] of [
    ['no body', undefined],
    ['no target', {}],
    ['a target that is no text', { target_tier: 1 }],
    ['a list', ['pro']],
    ['an unknown field', { target_tier: 'pro', price: 0 }],
    ['an organization that is no UUID', { target_tier: 'pro', organization_id: "x' or 1=1" }],
    ['a NUL', { target_tier: 'pro\0' }],
  ] as const) {
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const { status, json } = await t.call('POST', '/api/v1/billing/checkout', {
        token: operator,
        ...(payload && { payload }),
      });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it("404 ORG_NOT_FOUND for another organization's plan, and for a deleted one", async () => {
    const [one, other] = [await createOrganization(), await createOrganization()];
    const of = { organization_id: other.organizationId };
    assert.equal((await checkout(one.admin, 'pro', of)).json.code, 'ORG_NOT_FOUND');
    assert.equal((await checkout(operator, 'pro', of)).status, 200);
    await asOperator('DELETE', `/organizations/${other.organizationId}`);
    assert.equal((await checkout(operator, 'pro', of)).json.code, 'ORG_NOT_FOUND');
  });
});

describe('an order from start to end', () => {
  it('free → pro → enterprise → canceled: each change is recorded once; agents above the limit stay, new ones are refused', async () => {
    const { organizationId, member, admin, memberId } = await createOrganization();
    const first = (await checkout(member, 'pro')).json;
    assert.equal((await page(first.checkoutUrl)).status, 200);
    assert.equal(await tier(organizationId), 'free', 'looking at the page changes nothing');
    assert.equal((await confirm(first.checkoutUrl)).status, 200);
    assert.equal(await tier(organizationId), 'pro');
    const paid = await subscription(member);
    assert.deepEqual(
      [paid.tier, paid.status, paid.provider, paid.cancelAtPeriodEnd],
      ['pro', 'active', 'embedded', false],
    );
    assert.ok(Date.parse(paid.currentPeriodEnd) > t.clock.now());

    await confirm((await checkout(admin, 'enterprise')).json.checkoutUrl);
    assert.equal((await subscription(member)).tier, 'enterprise');

    const crowd = 26;
    for (let count = 0; count < crowd; count += 1) await t.agent({ organization_id: organizationId });
    assert.equal((await cancel(admin)).status, 204);
    const ended = await subscription(member);
    assert.deepEqual([ended.tier, ended.status, ended.cancelAtPeriodEnd], ['free', 'canceled', false]);
    const { total } = (await t.call('GET', '/api/v1/agents', { token: member })).json;
    assert.equal(total, crowd + 2);
    const refused = await t.call('POST', '/api/v1/agents', {
      token: operator,
      payload: {
        email: 'one-more@example.com',
        agentType: 'screener',
        version: '1.0.0',
        capabilities: ['resume:read'],
        owner: 'o',
        deploymentEnv: 'production',
        organization_id: organizationId,
      },
    });
    assert.deepEqual([refused.status, refused.json.code], [403, 'FREE_TIER_LIMIT_EXCEEDED']);

    const events = await auditEvents(organizationId);
    assert.deepEqual(
      events.map(({ action, metadata }) => `${action} ${metadata.planTier ?? metadata.targetTier}`),
      [
        'billing.checkout_started pro',
        'organization.updated pro',
        'billing.checkout_started enterprise',
        'organization.updated enterprise',
        'organization.updated free',
      ],
    );
    assert.equal(events[1]?.agent_id, memberId, 'who ordered it');
    assert.equal(events[1]?.metadata.billingEvent, 'customer.subscription.created');

    // Then a new order.
    await confirm((await checkout(admin, 'pro')).json.checkoutUrl);
    const again = await subscription(member);
    assert.deepEqual([again.tier, again.status], ['pro', 'active']);
  });
  it('an embedded subscription renews itself', async () => {
    const { member } = await createOrganization();
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    const before = Date.parse((await subscription(member)).currentPeriodEnd);
    const days = 24 * 3_600_000;
    assert.ok(before > t.clock.now() + 29 * days && before <= t.clock.now() + 30 * days);
    const { renewedPeriodEnd: renewed } = await import('./embedded.ts');
    const end = new Date(before).toISOString();
    assert.equal(renewed(end, before - 1), end);
    assert.equal(Date.parse(renewed(end, before)), before + 30 * days);
    assert.equal(Date.parse(renewed(end, before + 30 * days - 1)), before + 30 * days);
    assert.equal(Date.parse(renewed(end, before + 30 * days)), before + 60 * days);
  });
  it('a plan set by the operator outlasts the end of the subscription', async () => {
    const { organizationId, member, admin } = await createOrganization();
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    await asOperator('PATCH', `/organizations/${organizationId}`, { planTier: 'enterprise' });
    assert.equal((await cancel(admin)).status, 204);
    assert.equal((await subscription(member)).status, 'canceled');
    assert.equal(await tier(organizationId), 'enterprise');
    assert.equal((await actionsOf(organizationId)).at(-1), 'billing.subscription_updated');
  });
});

describe('DELETE /billing/subscription', () => {
  it('404 SUBSCRIPTION_NOT_FOUND without a subscription, or after its end', async () => {
    const { admin, member } = await createOrganization();
    const none = await cancel(admin);
    assert.deepEqual([none.status, none.json.code], [404, 'SUBSCRIPTION_NOT_FOUND']);
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    assert.equal((await cancel(admin)).status, 204);
    assert.equal((await cancel(admin)).json.code, 'SUBSCRIPTION_NOT_FOUND');
  });
  it('403 FORBIDDEN for a member, recorded in the audit log', async () => {
    const { member, memberId, organizationId } = await createOrganization();
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    const { status, json } = await cancel(member);
    assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
    assert.equal(await tier(organizationId), 'pro');
    const refusals = await t.sql<{ action: string }>(
      "select metadata->>'action' as action from audit_events where action = 'policy.refused' and agent_id = $1",
      [memberId],
    );
    assert.deepEqual(refusals, [{ action: 'billing:manage' }]);
  });
  it('204: fifty concurrent requests end it once', async () => {
    const { admin, member, organizationId } = await createOrganization();
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    const answers = await Promise.all(Array.from({ length: 50 }, () => cancel(admin)));
    assert.ok(answers.every(({ status }) => status === 204 || status === 404));
    assert.deepEqual(await actionsOf(organizationId), [
      'billing.checkout_started',
      'organization.updated',
      'organization.updated',
    ]);
    assert.equal(await tier(organizationId), 'free');
  });
});

describe('POST /billing/portal', () => {
  it('200 with a page that shows the subscription, to admins only', async () => {
    const { admin, member, organizationId } = await createOrganization({ name: '<b>Payer</b>' });
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    const { status, json } = await t.call('POST', '/api/v1/billing/portal', { token: admin });
    assert.equal(status, 200);
    const shown = await page(json.portalUrl);
    assert.equal(shown.status, 200);
    assert.match(shown.text, /&lt;b&gt;Payer&lt;\/b&gt;/);
    assert.match(shown.text, /<dd>pro<\/dd>[\s\S]*<dd>active<\/dd>/);
    assert.doesNotMatch(shown.text, /<b>Payer/);
    assert.equal((await actionsOf(organizationId)).at(-1), 'billing.portal_opened');
    const refused = await t.call('POST', '/api/v1/billing/portal', { token: member, payload: {} });
    assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN']);
    // Its token opens no other page.
    const token = json.portalUrl.split('/').at(-1);
    assert.equal((await t.call('GET', `/billing/checkout/${token}`)).json.code, 'BILLING_PAGE_NOT_FOUND');
    t.clock.advance(30 * 60_000);
    assert.equal((await page(json.portalUrl)).json.code, 'BILLING_PAGE_CLOSED');
  });
});
