import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createBillingClient } from '../../../test/support/scenarios/billing.ts';
import { escapeHtml } from '../../kernel/http/responses/html-page.ts';

const t = await startApp({ LOG_LEVEL: 'trace' });
const { createOrganization, checkout, page, confirm, tier, auditEvents, asOperator } =
  await createBillingClient(t);

const changesOf = async (organizationId: string) =>
  (await auditEvents(organizationId)).filter(({ action }) => action === 'organization.updated').length;
const order = async (changes: object = {}) => {
  const someone = await createOrganization(changes);
  return { ...someone, checkoutUrl: (await checkout(someone.member, 'pro')).json.checkoutUrl as string };
};

describe("the embedded provider's checkout page", () => {
  it('200 as HTML without scripts, with a content security policy and no-store', async () => {
    const { checkoutUrl } = await order();
    const { status, headers, text } = await page(checkoutUrl);
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; style-src 'sha256-[\w+/]+='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.doesNotMatch(text, /<script|javascript:|\son\w+=|https?:/i);
    assert.match(text, /<form method="post"><button type="submit" name="confirm" value="yes">/);
    assert.ok(!text.includes(checkoutUrl.split('/').at(-1) ?? ''), 'the address is not repeated');
  });
  for (const name of [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '</title></style><h1>',
    '&lt;b&gt;',
  ]) {
    it(`200 with the organization's name as text: ${JSON.stringify(name)}`, async () => {
      const { checkoutUrl } = await order({ name });
      for (const { text } of [await page(checkoutUrl), await confirm(checkoutUrl)]) {
        assert.ok(text.includes(`<dd>${escapeHtml(name)}</dd>`));
        assert.ok(!/[<>"']/.test(escapeHtml(name)));
        assert.doesNotMatch(text, /<script|<img|<h1>[^<]*<h1>|onmouseover='/);
      }
    });
  }
  it('410 BILLING_PAGE_CLOSED the second time', async () => {
    const { checkoutUrl, organizationId } = await order();
    assert.equal((await confirm(checkoutUrl)).status, 200);
    for (const again of [await confirm(checkoutUrl), await page(checkoutUrl)])
      assert.deepEqual([again.status, again.json.code], [410, 'BILLING_PAGE_CLOSED']);
    assert.equal(await changesOf(organizationId), 1);
  });
  it('410 BILLING_PAGE_CLOSED after exactly thirty minutes', async () => {
    const { member, organizationId } = await createOrganization();
    const { checkoutUrl, expiresAt } = (await checkout(member, 'pro')).json;
    t.clock.advance(Date.parse(expiresAt) - t.clock.now() - 60_000);
    assert.equal((await page(checkoutUrl)).status, 200);
    t.clock.advance(Date.parse(expiresAt) - t.clock.now());
    for (const late of [await page(checkoutUrl), await confirm(checkoutUrl)])
      assert.deepEqual([late.status, late.json.code], [410, 'BILLING_PAGE_CLOSED']);
    assert.equal(await tier(organizationId), 'free');
  });
  it('200 for one of fifty concurrent confirmations; 410 BILLING_PAGE_CLOSED for the others, one change', async () => {
    const { checkoutUrl, organizationId } = await order();
    const answers = await Promise.all(Array.from({ length: 50 }, () => confirm(checkoutUrl)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 410).length, 49);
    assert.equal(await changesOf(organizationId), 1);
    assert.equal(await tier(organizationId), 'pro');
  });
  it('200 for one of two pages for the same plan, confirmed concurrently; 410 for the other', async () => {
    const { member, organizationId } = await createOrganization();
    const pages = [(await checkout(member, 'pro')).json, (await checkout(member, 'pro')).json];
    const answers = await Promise.all(pages.map(({ checkoutUrl }) => confirm(checkoutUrl)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410]);
    assert.equal(await changesOf(organizationId), 1);
    assert.equal((await auditEvents(organizationId)).length, 3);
  });
  it('200 and the ordered plan, also when the operator had lowered it before', async () => {
    const { checkoutUrl, admin, organizationId } = await order();
    await confirm(checkoutUrl);
    await asOperator('PATCH', `/organizations/${organizationId}`, { planTier: 'free' });
    assert.equal(await tier(organizationId), 'free');
    const again = (await checkout(admin, 'pro')).json.checkoutUrl;
    assert.equal((await confirm(again)).status, 200);
    assert.equal(await tier(organizationId), 'pro');
  });
  it('410 BILLING_PAGE_CLOSED when the operator has set that plan since', async () => {
    const { checkoutUrl, organizationId } = await order();
    await asOperator('PATCH', `/organizations/${organizationId}`, { planTier: 'enterprise' });
    assert.equal((await confirm(checkoutUrl)).json.code, 'BILLING_PAGE_CLOSED');
    assert.equal(await tier(organizationId), 'enterprise');
  });
  it('410 BILLING_PAGE_CLOSED while the organization is suspended, and for good when it is deleted', async () => {
    const { checkoutUrl, organizationId } = await order();
    const url = `/organizations/${organizationId}`;
    await asOperator('PATCH', url, { status: 'suspended' });
    assert.equal((await confirm(checkoutUrl)).json.code, 'BILLING_PAGE_CLOSED');
    await asOperator('PATCH', url, { status: 'active' });
    assert.equal((await page(checkoutUrl)).status, 200);
    await asOperator('DELETE', url);
    assert.equal((await confirm(checkoutUrl)).json.code, 'BILLING_PAGE_CLOSED');
    assert.equal(await tier(organizationId), 'free');
  });
  it('404 BILLING_PAGE_NOT_FOUND for an unknown token; 400 for a malformed one', async () => {
    const { checkoutUrl } = await order();
    const path = new URL(checkoutUrl).pathname;
    const other = `${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`;
    for (const answer of [await t.call('GET', other), await t.form(other, { confirm: 'yes' })])
      assert.deepEqual([answer.status, answer.json.code], [404, 'BILLING_PAGE_NOT_FOUND']);
    for (const odd of ['%00', '%27', 'x'.repeat(200), '%ff', 'a%2Fb', '%F0%9F%98%80']) {
      const { status, json } = await t.call('GET', `/billing/checkout/${odd}`);
      assert.deepEqual([odd, status, json.code], [odd, 400, 'VALIDATION_ERROR']);
    }
  });
  for (const [what, fields] of [
    ['nothing', {}],
    ['another word', { confirm: 'no' }],
    ['something more', { confirm: 'yes', tier: 'enterprise' }],
  ] as const) {
    it(`400 VALIDATION_ERROR when the form has ${what}`, async () => {
      const { checkoutUrl, organizationId } = await order();
      const { status, json } = await t.form(new URL(checkoutUrl).pathname, fields);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
      assert.equal(await tier(organizationId), 'free');
    });
  }
  it('200 for the return page of Stripe, which changes nothing', async () => {
    const { status, text } = await t.call('GET', '/billing/return?session_id=cs_1');
    assert.equal(status, 200);
    assert.match(text, /as soon as the payment provider confirms/);
  });
  it('no token of a page is in the log', async () => {
    const { checkoutUrl } = await order();
    const token = checkoutUrl.split('/').at(-1) ?? 'none';
    await page(checkoutUrl);
    await confirm(checkoutUrl);
    await confirm(checkoutUrl);
    assert.ok(t.logs.length > 20, 'the log was on');
    assert.equal(
      t.logs.find((line) => line.includes(token)),
      undefined,
    );
  });
});

for (const [where, settings] of [
  ['NODE_ENV=production', { NODE_ENV: 'production' }],
  ['MULTI_TENANT=true', { MULTI_TENANT: 'true', NODE_ENV: 'development' }],
] as [string, Record<string, string>][])
  describe(`with ${where} and without Stripe`, () => {
    it('404 BILLING_DISABLED for orders, pages and events', async () => {
      const production = await startApp(settings);
      const billing = await createBillingClient(production);
      const { member, admin, organizationId } = await billing.createOrganization();
      const upgrade = { token: member, payload: { target_tier: 'pro' } };
      for (const refused of [
        await billing.checkout(member, 'pro'),
        await production.call('POST', '/api/v1/tiers/upgrade', upgrade),
      ]) {
        assert.deepEqual([refused.status, refused.json.code], [404, 'BILLING_DISABLED']);
        assert.match(refused.json.message, /Billing is not configured.*STRIPE_.*BILLING_ALLOW_EMBEDDED/);
      }
      const portal = await production.call('POST', '/api/v1/billing/portal', { token: admin });
      assert.equal(portal.json.code, 'BILLING_DISABLED');
      const { createPaymentEvents } = await import('../../../test/support/peers/payment-events.ts');
      const events = await createPaymentEvents(production.clock);
      const refused = await billing.sendEvent(await events.about(organizationId, {}));
      assert.equal(refused.json.code, 'BILLING_DISABLED');
      // A page from before, or from another process that still allows it.
      await production.sql(
        `insert into billing_sessions (session_id, kind, provider, organization_id, agent_id, target_tier, token_hash, started_at, expires_at)
       values ('s', 'checkout', 'embedded', $1, $1, 'pro', sha256('bs_old'), now(), now() + interval '20 minutes')`,
        [organizationId],
      );
      const old = await production.form('/billing/checkout/bs_old', { confirm: 'yes' });
      assert.equal(old.json.code, 'BILLING_PAGE_NOT_FOUND');
      const { status, provider, tier } = await billing.subscription(member);
      assert.deepEqual([status, provider, tier], ['none', null, 'free']);
      assert.equal((await billing.cancel(admin)).json.code, 'SUBSCRIPTION_NOT_FOUND');
    });
    it('200 with BILLING_ALLOW_EMBEDDED=true', async () => {
      const allowed = await startApp({ ...settings, BILLING_ALLOW_EMBEDDED: 'true' });
      const billing = await createBillingClient(allowed);
      const { member, organizationId } = await billing.createOrganization();
      const { checkoutUrl } = (await billing.checkout(member, 'pro')).json;
      assert.equal((await billing.confirm(checkoutUrl)).status, 200);
      assert.equal(await billing.tier(organizationId), 'pro');
    });
  });
