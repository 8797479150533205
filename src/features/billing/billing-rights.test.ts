/** Authorization of orders. Delegated callers may never order. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Answer, startApp, type TestApp } from '../../../test/support/harness.ts';
import { createPaymentEvents } from '../../../test/support/peers/payment-events.ts';
import { type BillingOrganization, createBillingClient } from '../../../test/support/scenarios/billing.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const billing = await createBillingClient(t);
const { createOrganization, checkout, confirm, page, tier, sendEvent, operator } = billing;
const events = await createPaymentEvents(t.clock);

const resultOf = ({ status, json }: Answer) => (status < 400 ? String(status) : `${status} ${json.code}`);
const upgrade = (token: string, target_tier: string, app = t) =>
  app.call('POST', '/api/v1/tiers/upgrade', { token, payload: { target_tier } });
const refusalsOf = (agentId: string, app = t) =>
  app.sql<{ action: string }>(
    "select metadata->>'action' as action from audit_events where action = 'policy.refused' and agent_id = $1",
    [agentId],
  );
/** An organization whose member has ordered pro. */
const paying = async (): Promise<BillingOrganization> => {
  const someone = await createOrganization();
  assert.equal((await confirm((await checkout(someone.member, 'pro')).json.checkoutUrl)).status, 200);
  return someone;
};

describe('after the first order', () => {
  it('403 FORBIDDEN for a member on both routes, and no page is created; 200 for admin and operator', async () => {
    const { member, memberId, admin, organizationId } = await paying();
    const sessions = () =>
      t.sql('select session_id from billing_sessions where organization_id = $1', [organizationId]);
    const before = await sessions();
    const refused = await checkout(member, 'enterprise');
    assert.equal(resultOf(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /billing:manage/);
    assert.equal(resultOf(await upgrade(member, 'enterprise')), '403 FORBIDDEN');
    assert.deepEqual(await sessions(), before);
    assert.deepEqual(await refusalsOf(memberId), [
      { action: 'billing:manage' },
      { action: 'billing:manage' },
    ]);
    for (const order of [
      () => checkout(admin, 'enterprise'),
      () => upgrade(admin, 'enterprise'),
      () => checkout(operator, 'enterprise', { organization_id: organizationId }),
    ])
      assert.equal(resultOf(await order()), '200');
  });
  it('400 TIER_UPGRADE_NOT_REQUIRED for a member that orders the current plan', async () => {
    const { member } = await paying();
    assert.equal(resultOf(await checkout(member, 'pro')), '400 TIER_UPGRADE_NOT_REQUIRED');
    assert.equal(resultOf(await upgrade(member, 'pro')), '400 TIER_UPGRADE_NOT_REQUIRED');
  });
  for (const status of ['active', 'past_due', 'incomplete', 'canceled'])
    it(`403 FORBIDDEN for a member when the subscription is ${status}`, async () => {
      const { member, admin, organizationId } = await createOrganization();
      await sendEvent(await events.about(organizationId, { status }));
      assert.equal(resultOf(await checkout(member, 'enterprise')), '403 FORBIDDEN');
      assert.equal(resultOf(await upgrade(member, 'enterprise')), '403 FORBIDDEN');
      assert.equal(resultOf(await checkout(admin, 'enterprise')), '200');
    });
  it("410 BILLING_PAGE_CLOSED for every earlier page, an admin's too; 200 for a later page of an admin", async () => {
    const { member, admin, organizationId } = await createOrganization();
    const early = [await checkout(member, 'enterprise'), await checkout(admin, 'enterprise')];
    await confirm((await checkout(member, 'pro')).json.checkoutUrl);
    for (const { json } of early)
      for (const answer of [await page(json.checkoutUrl), await confirm(json.checkoutUrl)]) {
        assert.equal(resultOf(answer), '410 BILLING_PAGE_CLOSED');
        assert.match(answer.json.message, /every page .* before the first payment .* billing:manage/i);
      }
    assert.equal(await tier(organizationId), 'pro');
    assert.equal((await confirm((await checkout(admin, 'enterprise')).json.checkoutUrl)).status, 200);
    assert.equal(await tier(organizationId), 'enterprise');
  });
  it('200 for one of two first pages for different plans, confirmed concurrently; 410 for the other', async () => {
    const { member, organizationId } = await createOrganization();
    const pages = [(await checkout(member, 'pro')).json, (await checkout(member, 'enterprise')).json];
    const answers = await Promise.all(pages.map(({ checkoutUrl }) => confirm(checkoutUrl)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410]);
    const confirmed = answers[0]?.status === 200 ? 'pro' : 'enterprise';
    assert.equal(await tier(organizationId), confirmed);
  });
});

describe('a delegated caller', () => {
  /** A token of an agent that acts for the organization's admin. */
  const delegatedIn = async (app: TestApp, { organizationId, admin }: BillingOrganization) => {
    const { createDelegation, redeem } = createDelegationClient(app);
    const actor = await app.agent({ organization_id: organizationId });
    const token = await redeem(actor, await createDelegation(admin, actor, ['agents:read', 'agents:write']));
    assert.equal((await app.call('GET', '/api/v1/agents', { token })).status, 200);
    return { token, agentId: actor.agentId };
  };
  const attempts = async (app: TestApp, token: string): Promise<string[]> =>
    [
      await app.call('POST', '/api/v1/billing/checkout', { token, payload: { target_tier: 'enterprise' } }),
      await upgrade(token, 'enterprise', app),
      await app.call('POST', '/api/v1/billing/portal', { token }),
      await app.call('DELETE', '/api/v1/billing/subscription', { token }),
    ].map(resultOf);
  const refused = Array<string>(4).fill('403 FORBIDDEN');

  it('403 FORBIDDEN for the first order and for all later requests, each recorded', async () => {
    const someone = await createOrganization();
    const { token, agentId } = await delegatedIn(t, someone);
    assert.deepEqual(await attempts(t, token), refused);
    assert.equal(await tier(someone.organizationId), 'free');
    await confirm((await checkout(someone.member, 'pro')).json.checkoutUrl);
    assert.deepEqual(await attempts(t, token), refused);
    assert.equal(await tier(someone.organizationId), 'pro');
    // Also for a plan that is not above the current one, where other callers get 400.
    assert.equal(resultOf(await upgrade(token, 'pro', t)), '403 FORBIDDEN');
    assert.equal((await refusalsOf(agentId)).length, 9);
    assert.equal((await t.call('GET', '/api/v1/billing/subscription', { token })).status, 200);
  });
  it('403 FORBIDDEN also under policies that permit everything', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-policies-'));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'all.cedar'), 'permit (principal, action, resource);');
    const lenient = await startApp({ POLICIES_DIR: folder });
    const others = await createBillingClient(lenient);
    const someone = await others.createOrganization();
    const { token } = await delegatedIn(lenient, someone);
    assert.deepEqual(await attempts(lenient, token), refused);
    await others.confirm((await others.checkout(someone.member, 'pro')).json.checkoutUrl);
    assert.equal(resultOf(await others.checkout(someone.member, 'enterprise')), '200');
    assert.deepEqual(await attempts(lenient, token), refused);
  });
});
