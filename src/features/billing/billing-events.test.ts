/** Payment events from Stripe: repeated, late, in any order. Signed by Stripe's own SDK. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createPaymentEvents } from '../../../test/support/peers/payment-events.ts';
import { freePort, until } from '../../../test/support/programs.ts';
import { createBillingClient, webhookUrl } from '../../../test/support/scenarios/billing.ts';
import { sql } from '../../kernel/data/sql.ts';

const secret = `whsec_${randomUUID()}`;
const secretKey = `sk_test_${randomUUID()}`;
const prices = { pro: 'price_pro', enterprise: 'price_enterprise' };
const t = await startApp({
  LOG_LEVEL: 'trace',
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_WEBHOOK_SECRET: secret,
  STRIPE_PRICE_PRO: prices.pro,
  STRIPE_PRICE_ENTERPRISE: prices.enterprise,
  // Nothing listens there: only lookups may need Stripe's API.
  STRIPE_API_URL: `http://127.0.0.1:${await freePort()}`,
});
const { createOrganization, checkout, subscription, cancel, tier, auditEvents, sendEvent, asOperator } =
  await createBillingClient(t);
const { about, sign } = await createPaymentEvents(t.clock, { secret, prices });

const outcomeOf = async (signed: Promise<Parameters<typeof sendEvent>[0]>) => {
  const { status, json } = await sendEvent(await signed);
  return `${status} ${json.outcome ?? json.code}`;
};
const changesOf = async (organizationId: string) =>
  (await auditEvents(organizationId)).map(({ action }) => action);
/** Seconds since the epoch, from now. */
const inSeconds = (seconds: number) => Math.floor(t.clock.now() / 1000) + seconds;

describe('POST /billing/webhooks/stripe', () => {
  it('200 applied: the event changes the plan, and the audit event names no agent', async () => {
    const { organizationId, member } = await createOrganization();
    assert.equal(await outcomeOf(about(organizationId, {})), '200 applied');
    const shown = await subscription(member);
    assert.deepEqual([shown.tier, shown.status, shown.provider], ['pro', 'active', 'stripe']);
    const events = await auditEvents(organizationId);
    assert.equal(events.length, 1);
    assert.equal(events[0]?.action, 'organization.updated');
    assert.equal(events[0]?.agent_id, '00000000-0000-0000-0000-000000000000');
    assert.deepEqual(events[0]?.metadata.changed, ['planTier']);
  });

  for (const [what, forge] of [
    [
      'another secret',
      async (org: string) =>
        (await createPaymentEvents(t.clock, { secret: 'whsec_other', prices })).about(org, {}),
    ],
    ['no signature', async (org: string) => ({ ...(await about(org, {})), signature: '' })],
    ['a signature of nothing', async (org: string) => ({ ...(await about(org, {})), signature: 't=1,v1=' })],
    [
      'a signature that is none',
      async (org: string) => ({ ...(await about(org, {})), signature: '\u00ff,,=;t=NaN' }),
    ],
    [
      'the scheme of test events',
      async (org: string) => {
        const { body, signature } = await about(org, {});
        return { body, signature: signature.replace('v1=', 'v0=') };
      },
    ],
    [
      'another moment',
      async (org: string) => {
        const { body, signature } = await about(org, {});
        return { body, signature: signature.replace(/t=\d+/, `t=${inSeconds(1)}`) };
      },
    ],
    [
      '302 seconds from now',
      async (org: string) => sign((await about(org, {})).body, t.clock.now() + 302_000),
    ],
    ['301 seconds ago', async (org: string) => sign((await about(org, {})).body, t.clock.now() - 301_000)],
    [
      'a body with one byte more',
      async (org: string) => {
        const { body, signature } = await about(org, {});
        return { body: `${body} `, signature };
      },
    ],
    [
      'a byte order mark before the body',
      async (org: string) => {
        const { body, signature } = await about(org, {});
        return { body: `\ufeff${body}`, signature };
      },
    ],
    ['an empty body', async () => sign('')],
    ['a body that is no JSON', async () => sign('{')],
    ['a body that is no event', async () => sign('null')],
    ['a list', async () => sign('[]')],
    ['an event without an id', async (org: string) => about(org, {}, { id: undefined })],
    ['an id that is no text', async (org: string) => about(org, {}, { id: { $ne: 1 } })],
    ['an id with a NUL', async (org: string) => about(org, {}, { id: 'evt_\0' })],
    ['a time that is none', async (org: string) => about(org, {}, { created: 'now' })],
    ['the year 275760', async (org: string) => about(org, {}, { created: 8.64e12 })],
  ] as const) {
    it(`400 VALIDATION_ERROR for ${what}; nothing changes`, async () => {
      const { organizationId } = await createOrganization();
      const { status, json } = await sendEvent(await forge(organizationId));
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
      assert.equal(json.details.fields[0].field, 'Stripe-Signature');
      assert.deepEqual(await changesOf(organizationId), []);
    });
  }
  it('400 VALIDATION_ERROR for each body with one byte changed', async () => {
    const { organizationId } = await createOrganization();
    const { body, signature } = await about(organizationId, {});
    for (let at = 0; at < body.length; at += 7) {
      const bytes = Buffer.from(body);
      bytes[at] = (bytes[at] ?? 0) ^ (at % 2 ? 1 : 0x80);
      const { status } = await t.call('POST', webhookUrl, {
        payload: bytes,
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      });
      assert.equal(status, 400, `byte ${at}`);
    }
    assert.equal(await tier(organizationId), 'free');
    assert.equal((await sendEvent({ body, signature })).status, 200);
  });
  it('400 VALIDATION_ERROR when there is no body or the signature comes twice', async () => {
    const { organizationId } = await createOrganization();
    assert.equal((await t.call('POST', webhookUrl)).status, 400);
    assert.equal(
      (await t.call('POST', webhookUrl, { headers: { 'stripe-signature': 't=1,v1=0' } })).status,
      400,
    );
    const { body, signature } = await about(organizationId, {});
    const other = (await createPaymentEvents(t.clock, { secret: 'whsec_other' })).sign(body);
    const headers = { 'stripe-signature': [other.signature, 'x'] as unknown as string };
    assert.equal((await sendEvent({ body, signature }, headers)).status, 400);
    assert.equal(await tier(organizationId), 'free');
  });
  it('413 PAYLOAD_TOO_LARGE for a body of a megabyte', async () => {
    const { status, json } = await sendEvent(sign('x'.repeat(1_000_000)));
    assert.deepEqual([status, json.code], [413, 'PAYLOAD_TOO_LARGE']);
  });
  it('200 applied when it is 290 seconds old or early, with any content type', async () => {
    for (const seconds of [-290, 290]) {
      const { organizationId } = await createOrganization();
      const { body } = await about(organizationId, {});
      const { status, json } = await sendEvent(sign(body, t.clock.now() + seconds * 1000), {
        'content-type': 'text/plain',
      });
      assert.deepEqual([status, json.outcome], [200, 'applied']);
    }
  });

  it('200 the same event in twenty concurrent requests: one applied, one change', async () => {
    const { organizationId } = await createOrganization();
    const signed = await about(organizationId, {});
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendEvent(signed)));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.deepEqual(answers.map(({ json }) => json.outcome).toSorted(), [
      'applied',
      ...Array.from({ length: 19 }, () => 'repeated'),
    ]);
    assert.deepEqual(await changesOf(organizationId), ['organization.updated']);
    // With a new signature, like Stripe's retries.
    t.clock.advance(5_000);
    assert.equal((await sendEvent(sign(signed.body))).json.outcome, 'repeated');
  });
  it('200 repeated: the event is written after the organization is locked, so there is no deadlock', async () => {
    const { organizationId } = await createOrganization();
    const signed = await about(organizationId, {});
    const concurrent = await t.app.db.transaction(async (tx) => {
      await t.app.organizations.lockOrganization(tx, organizationId);
      const answer = sendEvent(signed);
      await until('it to wait', async () => {
        const waiting = await t.sql(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return waiting.length > 0 || undefined;
      });
      await tx.run(
        'test.event',
        sql`insert into billing_events values ('stripe', ${JSON.parse(signed.body).id}, 'x', now())`,
      );
      return { answer };
    });
    assert.equal((await concurrent.answer).json.outcome, 'repeated');
  });
  it('200 twenty concurrent events about one subscription: the latest counts', async () => {
    const { organizationId, member } = await createOrganization();
    const events = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        about(organizationId, { tier: index % 2 ? 'enterprise' : 'pro' }, { created: inSeconds(index - 30) }),
      ),
    );
    const answers = await Promise.all(events.map((signed) => sendEvent(signed)));
    assert.ok(answers.every(({ status }) => status === 200));
    const { tier, status } = await subscription(member);
    assert.deepEqual([tier, status], ['enterprise', 'active']);
  });

  it('200 late: an event older than the stored state changes nothing, in any order', async () => {
    const orders = [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [1, 3, 0, 2],
      [2, 0, 3, 1],
    ];
    for (const order of orders) {
      const { organizationId, member } = await createOrganization();
      const life = [
        about(
          organizationId,
          { status: 'incomplete' },
          { created: inSeconds(-40), type: 'customer.subscription.created' },
        ),
        about(organizationId, { status: 'active' }, { created: inSeconds(-30) }),
        about(organizationId, { status: 'past_due' }, { created: inSeconds(-20) }),
        about(organizationId, { status: 'active', tier: 'enterprise' }, { created: inSeconds(-10) }),
      ];
      for (const step of order)
        assert.match(await outcomeOf(life[step] as (typeof life)[0]), /^200 (applied|late)$/);
      const { tier, status } = await subscription(member);
      assert.deepEqual([order, tier, status], [order, 'enterprise', 'active']);
    }
  });
  it('200 late: nothing revives a subscription that was deleted', async () => {
    const { organizationId, member } = await createOrganization();
    await sendEvent(await about(organizationId, {}));
    const deleted = { type: 'customer.subscription.deleted', created: inSeconds(-5) };
    assert.equal(
      await outcomeOf(about(organizationId, { status: 'canceled' }, { ...deleted, created: inSeconds(1) })),
      '200 applied',
    );
    assert.equal(await outcomeOf(about(organizationId, {}, { created: inSeconds(1) })), '200 late');
    assert.equal(await outcomeOf(about(organizationId, {}, { created: inSeconds(60) })), '200 late');
    const { tier, status } = await subscription(member);
    assert.deepEqual([tier, status], ['free', 'canceled']);
    // Also when the end is the first event.
    const other = await createOrganization();
    await sendEvent(await about(other.organizationId, { status: 'canceled' }, deleted));
    assert.equal(await outcomeOf(about(other.organizationId, {})), '200 late');
    assert.equal((await subscription(other.member)).status, 'canceled');
  });
  it('200 applied: a new subscription after the end of the old one; a repeat of that end is late', async () => {
    const { organizationId, member } = await createOrganization();
    await sendEvent(await about(organizationId, { id: 'sub_old', created: 1_700_000_000 }));
    await sendEvent(
      await about(organizationId, { id: 'sub_old', status: 'canceled' }, { created: inSeconds(1) }),
    );
    assert.equal(
      await outcomeOf(about(organizationId, { id: 'sub_new', created: 1_700_000_001 })),
      '200 applied',
    );
    assert.equal(
      await outcomeOf(
        about(organizationId, { id: 'sub_old', status: 'canceled' }, { created: inSeconds(9) }),
      ),
      '200 late',
    );
    assert.equal((await subscription(member)).tier, 'pro');
  });
  it('200 late: an unpaid second subscription changes nothing', async () => {
    const { organizationId, member } = await createOrganization();
    await sendEvent(await about(organizationId, { id: 'sub_a', tier: 'enterprise' }));
    for (const status of ['incomplete', 'canceled', 'unpaid'])
      assert.equal(
        await outcomeOf(about(organizationId, { id: 'sub_b', created: 1_800_000_000, status })),
        '200 late',
      );
    assert.equal((await subscription(member)).tier, 'enterprise');
  });
  it('503 SERVICE_UNAVAILABLE when only Stripe can tell which of two came last and it is unreachable; applied on retry', async () => {
    const { organizationId, member } = await createOrganization();
    const created = inSeconds(-3);
    await sendEvent(await about(organizationId, { status: 'incomplete' }, { created }));
    const tied = await about(organizationId, {}, { created });
    const { status, json, headers } = await sendEvent(tied);
    assert.deepEqual([status, json.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(headers['retry-after']);
    assert.equal((await subscription(member)).status, 'incomplete');
    const seen = await t.sql('select 1 from billing_events where event_id = $1', [JSON.parse(tied.body).id]);
    assert.deepEqual(seen, [], 'it was not acted on, so it is not remembered');
  });

  for (const [stripeStatus, status, plan] of [
    ['trialing', 'active', 'pro'],
    ['active', 'active', 'pro'],
    ['past_due', 'past_due', 'pro'],
    ['incomplete', 'incomplete', 'free'],
    ['unpaid', 'incomplete', 'free'],
    ['paused', 'incomplete', 'free'],
    ['incomplete_expired', 'canceled', 'free'],
    ['canceled', 'canceled', 'free'],
  ] as const) {
    it(`200 applied: Stripe's ${stripeStatus} is ours ${status}, with the plan ${plan}`, async () => {
      const [fresh, paying] = [await createOrganization(), await createOrganization()];
      await sendEvent(await about(paying.organizationId, {}, { created: inSeconds(-60) }));
      for (const { organizationId, member } of [fresh, paying]) {
        assert.equal(await outcomeOf(about(organizationId, { status: stripeStatus })), '200 applied');
        const shown = await subscription(member);
        assert.deepEqual([shown.status, shown.tier], [status, plan]);
      }
    });
  }
  it('200 applied: a plan set by the operator is not lowered by a lesser payment or a failed one', async () => {
    const { organizationId } = await createOrganization({ planTier: 'enterprise' });
    for (const status of ['incomplete', 'active', 'canceled']) {
      await sendEvent(await about(organizationId, { status }));
      assert.equal(await tier(organizationId), 'enterprise');
    }
  });
  it('200 applied: one audit event for a change, none without a change', async () => {
    const { organizationId, member } = await createOrganization();
    const item = { price: { id: prices.pro }, current_period_end: 1_900_000_000 };
    const same = { items: { data: [item] } };
    await sendEvent(await about(organizationId, same, { created: inSeconds(-9) }));
    const before = await subscription(member);
    await sendEvent(await about(organizationId, same, { created: inSeconds(-8) }));
    assert.deepEqual(await subscription(member), before);
    await sendEvent(
      await about(organizationId, { ...same, cancel_at_period_end: true }, { created: inSeconds(-7) }),
    );
    assert.deepEqual(await changesOf(organizationId), [
      'organization.updated',
      'billing.subscription_updated',
    ]);
    const after = await subscription(member);
    assert.deepEqual([after.cancelAtPeriodEnd, after.currentPeriodEnd], [true, '2030-03-17T17:46:40.000Z']);
    // The fields of older API versions, and the newer field for the end of the period.
    const old = {
      items: { data: [{ price: prices.pro }] },
      current_period_end: 1_900_000_001,
      cancel_at: 1_900_000_001,
    };
    await sendEvent(await about(organizationId, old, { created: inSeconds(-6) }));
    const shown = await subscription(member);
    assert.deepEqual([shown.currentPeriodEnd, shown.cancelAtPeriodEnd], ['2030-03-17T17:46:41.000Z', true]);
  });

  it('200 unknown for an unknown customer; a known customer needs no metadata of ours', async () => {
    for (const metadata of [
      undefined,
      {},
      { organization_id: 7 },
      { organization_id: 'x' },
      { organization_id: randomUUID() },
    ])
      assert.equal(await outcomeOf(about(randomUUID(), { metadata })), '200 unknown');
    const { organizationId, member } = await createOrganization();
    const customer = { customer: `cus_${randomUUID()}` };
    await sendEvent(await about(organizationId, customer));
    await sendEvent(
      await about(
        organizationId,
        { ...customer, metadata: {}, tier: 'enterprise' },
        { created: inSeconds(5) },
      ),
    );
    assert.equal((await subscription(member)).tier, 'enterprise');
  });
  it('200 applied for the organization that has the subscription, even if its metadata change later', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()];
    await sendEvent(await about(one.organizationId, {}));
    const metadata = { organization_id: other.organizationId };
    await sendEvent(
      await about(one.organizationId, { metadata, tier: 'enterprise' }, { created: inSeconds(5) }),
    );
    assert.deepEqual(
      [await tier(one.organizationId), await tier(other.organizationId)],
      ['enterprise', 'free'],
    );
  });
  it('200 ignored for events and prices that are not ours', async () => {
    const { organizationId } = await createOrganization();
    for (const type of [
      'invoice.paid',
      'checkout.session.completed',
      'customer.subscription.trial_will_end',
      'x'.repeat(3_000),
      '__proto__',
    ])
      assert.equal(await outcomeOf(about(organizationId, {}, { type })), '200 ignored');
    for (const subscription of [
      { items: { data: [{ price: { id: 'price_of_something_else' } }] } },
      { items: { data: [] } },
      { items: undefined },
      { items: { data: 'pro' } },
      { status: 'constructor' },
      { status: null },
      { customer: null },
      { id: '../../sub' },
      { created: -1 },
    ])
      assert.equal(await outcomeOf(about(organizationId, subscription)), '200 ignored');
    assert.equal(await outcomeOf(about(organizationId, {}, { data: null })), '200 ignored');
    assert.deepEqual(await changesOf(organizationId), []);
    assert.deepEqual(await t.sql("select 1 from billing_events where event_type = 'invoice.paid'"), []);
  });
  it('200 applied: a price that is no longer listed keeps the plan, and its end is applied', async () => {
    const { organizationId, member } = await createOrganization();
    await sendEvent(await about(organizationId, { tier: 'enterprise' }, { created: inSeconds(-9) }));
    const items = { data: [{ price: { id: 'price_of_last_year' }, current_period_end: 1_900_000_000 }] };
    assert.equal(
      await outcomeOf(about(organizationId, { items }, { created: inSeconds(-8) })),
      '200 applied',
    );
    const renewed = await subscription(member);
    assert.deepEqual([renewed.tier, renewed.currentPeriodEnd], ['enterprise', '2030-03-17T17:46:40.000Z']);
    assert.equal(await outcomeOf(about(organizationId, { items, status: 'canceled' })), '200 applied');
    const ended = await subscription(member);
    assert.deepEqual([ended.tier, ended.status], ['free', 'canceled']);
  });
  it('200 applied while the organization is suspended; 200 unknown once it is deleted', async () => {
    const { organizationId } = await createOrganization();
    await asOperator('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
    assert.equal(await outcomeOf(about(organizationId, {})), '200 applied');
    assert.equal(await tier(organizationId), 'pro');
    await asOperator('DELETE', `/organizations/${organizationId}`);
    assert.equal(
      await outcomeOf(about(organizationId, { status: 'canceled' }, { created: inSeconds(5) })),
      '200 unknown',
    );
    assert.equal(await tier(organizationId), 'pro');
  });

  it("503 SERVICE_UNAVAILABLE, nothing recorded and no key in the log, when Stripe's API is unreachable", async () => {
    const { organizationId, member, admin } = await createOrganization();
    const refused = await checkout(member, 'pro');
    assert.deepEqual([refused.status, refused.json.code], [503, 'SERVICE_UNAVAILABLE']);
    await sendEvent(await about(organizationId, {}));
    assert.equal((await cancel(admin)).status, 503);
    assert.equal((await subscription(member)).cancelAtPeriodEnd, false);
    assert.deepEqual(await changesOf(organizationId), ['organization.updated']);
    assert.ok(t.logs.length > 100, 'the log was on');
    for (const hidden of [secret, secretKey])
      assert.equal(
        t.logs.find((line) => line.includes(hidden)),
        undefined,
      );
  });
  it('404 BILLING_PAGE_NOT_FOUND for an embedded page where Stripe takes the payments', async () => {
    const { organizationId } = await createOrganization();
    await t.sql(
      `insert into billing_sessions (session_id, kind, provider, organization_id, agent_id, target_tier, token_hash, started_at, expires_at)
       values ('s', 'checkout', 'embedded', $1, $1, 'pro', sha256('bs_old'), now(), now() + interval '20 minutes')`,
      [organizationId],
    );
    assert.equal(
      (await t.form('/billing/checkout/bs_old', { confirm: 'yes' })).json.code,
      'BILLING_PAGE_NOT_FOUND',
    );
    const embedded = await createPaymentEvents(t.clock);
    assert.equal((await sendEvent(await embedded.about(organizationId, {}))).status, 400);
    assert.equal(await tier(organizationId), 'free');
  });
});
