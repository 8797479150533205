/** The Stripe adapter against stripe-mock, which validates every request against Stripe's OpenAPI description. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { skipWithout, startApp, type TestApp } from '../../../test/support/harness.ts';
import { createPaymentEvents } from '../../../test/support/peers/payment-events.ts';
import { freePort, startStripeMock } from '../../../test/support/programs.ts';
import { createBillingClient } from '../../../test/support/scenarios/billing.ts';

interface RecordedRequest {
  readonly what: string;
  readonly form: Record<string, string>;
}

type BeforeRequest = (what: string) => Promise<{ status: number; error: object } | undefined>;
const nothing: BeforeRequest = async () => undefined;

/** A proxy to stripe-mock that records requests. `beforeRequest` runs first and may refuse one. */
async function startRecorder(target: string) {
  const asked: RecordedRequest[] = [];
  const recorder = { asked, url: '', beforeRequest: nothing };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    asked.push({
      what: `${request.method} ${request.url?.split('?')[0]}`,
      form: Object.fromEntries(new URLSearchParams(body)),
    });
    const refusal = await recorder.beforeRequest(asked.at(-1)?.what ?? '');
    if (refusal) {
      const { status, error } = refusal;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      return;
    }
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        'content-type': 'application/x-www-form-urlencoded',
      },
      ...(body !== '' && { body }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  after(() => server.close());
  recorder.url = `http://127.0.0.1:${port}`;
  return recorder;
}

const mock = await startStripeMock();

const endOrphans = (t: TestApp, signal: AbortSignal) =>
  t.app.billing.loops.find(({ name }) => name === 'billing-orphans')?.run(signal) ??
  assert.fail('no such loop');

/** An instance whose pro plan has the price of stripe-mock's only subscription. */
async function start(secretKey = `sk_test_${randomUUID().replaceAll('-', '')}`) {
  assert.ok(mock);
  const headers = { authorization: 'Bearer sk_test_123' };
  const answer = await fetch(`${mock.url}/v1/subscriptions/sub_1`, { headers });
  const fixture = (await answer.json()) as { items: { data: [{ price: { id: string } }] } };
  const prices = { pro: fixture.items.data[0].price.id, enterprise: 'price_enterprise' };
  const recorder = await startRecorder(mock.url);
  const secret = `whsec_${randomUUID()}`;
  const t = await startApp({
    LOG_LEVEL: 'trace',
    NODE_ENV: 'production',
    STRIPE_SECRET_KEY: secretKey,
    STRIPE_WEBHOOK_SECRET: secret,
    STRIPE_PRICE_PRO: prices.pro,
    STRIPE_PRICE_ENTERPRISE: prices.enterprise,
    STRIPE_API_URL: recorder.url,
  });
  const { about } = await createPaymentEvents(t.clock, { secret, prices });
  return { t, prices, recorder, asked: recorder.asked, about, ...(await createBillingClient(t)) };
}

describe('billing through Stripe', () => {
  it('conforms to the payment port', async (context) => {
    if (!mock) return skipWithout(context, 'stripe-mock');
    const s = await start();
    const {
      t,
      recorder,
      asked,
      prices,
      about,
      createOrganization,
      checkout,
      sendEvent,
      subscription,
      cancel,
      auditEvents,
      tier,
    } = s;
    const { asOperator } = s;
    const actionsOf = async (id: string) => (await auditEvents(id)).map(({ action }) => action);
    const since = async (work: () => Promise<unknown>) => {
      const before = asked.length;
      await work();
      return asked.slice(before);
    };

    await context.test('200 checkout: a Stripe session with our price and the organization id', async () => {
      const { organizationId, member, memberId } = await createOrganization();
      const { status, json } = await checkout(member, 'pro');
      assert.equal(status, 200);
      assert.match(json.checkoutUrl, /^https:\/\/checkout\.stripe\.com\//);
      assert.match(json.sessionId, /^cs_/);
      const { what, form } = asked.at(-1) as RecordedRequest;
      assert.equal(what, 'POST /v1/checkout/sessions');
      const seconds = Number(form.expires_at) - t.clock.now() / 1000;
      assert.ok(seconds > 30 * 60 && seconds <= 31 * 60, String(seconds));
      const { expires_at: _, ...rest } = form;
      assert.deepEqual(rest, {
        mode: 'subscription',
        'line_items[0][price]': prices.pro,
        'line_items[0][quantity]': '1',
        client_reference_id: organizationId,
        'metadata[organization_id]': organizationId,
        'metadata[agent_id]': memberId,
        'subscription_data[metadata][organization_id]': organizationId,
        'subscription_data[metadata][agent_id]': memberId,
        success_url: 'http://countersign.test/billing/return',
        cancel_url: 'http://countersign.test/billing/return',
      });
      assert.deepEqual(await actionsOf(organizationId), ['billing.checkout_started']);
      assert.equal(await tier(organizationId), 'free');
    });

    await context.test(
      '200 second checkout: closes the previous session, so that it cannot be paid too',
      async () => {
        const { member } = await createOrganization();
        const { sessionId } = (await checkout(member, 'pro')).json;
        // stripe-mock returns the same expiry for every session, and it may be in the past.
        await t.sql(
          "update billing_sessions set expires_at = now() + interval '20 minutes' where session_id = $1",
          [sessionId],
        );
        const again = await since(() => checkout(member, 'enterprise'));
        assert.deepEqual(
          again.map(({ what }) => what),
          [`POST /v1/checkout/sessions/${sessionId}/expire`, 'POST /v1/checkout/sessions'],
        );
      },
    );

    await context.test(
      '200 checkout with an active subscription: changes it, for an admin only',
      async () => {
        const { organizationId, admin, member } = await createOrganization();
        await sendEvent(await about(organizationId, { id: 'sub_pays', customer: 'cus_pays' }));
        const none = await since(async () => {
          const refused = await checkout(member, 'enterprise');
          assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN']);
        });
        assert.deepEqual(none, []);
        const [, opened] = await since(async () => {
          const { status, json } = await checkout(admin, 'enterprise');
          assert.equal(status, 200);
          assert.match(json.sessionId, /^bps_/);
          assert.ok(Date.parse(json.expiresAt) > t.clock.now());
        });
        assert.equal(opened?.what, 'POST /v1/billing_portal/sessions');
        assert.equal(opened?.form.customer, 'cus_pays');
        assert.equal(opened?.form['flow_data[type]'], 'subscription_update_confirm');
        assert.equal(opened?.form['flow_data[subscription_update_confirm][subscription]'], 'sub_pays');
        assert.match(opened?.form['flow_data[subscription_update_confirm][items][0][id]'] ?? '', /^si_/);
        assert.equal(
          opened?.form['flow_data[subscription_update_confirm][items][0][price]'],
          'price_enterprise',
        );
        assert.equal(await tier(organizationId), 'pro');
      },
    );

    await context.test('200 checkout of an organization that has paid before: same customer', async () => {
      const { organizationId, admin } = await createOrganization();
      await sendEvent(await about(organizationId, { customer: 'cus_paid', status: 'canceled' }));
      const [opened] = await since(() => checkout(admin, 'pro'));
      assert.deepEqual([opened?.what, opened?.form.customer], ['POST /v1/checkout/sessions', 'cus_paid']);
    });

    await context.test(
      '404 SUBSCRIPTION_NOT_FOUND for a portal without a customer; 200 with one',
      async () => {
        const { organizationId, admin } = await createOrganization();
        const portal = () => t.call('POST', '/api/v1/billing/portal', { token: admin });
        assert.equal((await portal()).json.code, 'SUBSCRIPTION_NOT_FOUND');
        await sendEvent(await about(organizationId, { customer: 'cus_portal' }));
        const [opened] = await since(async () => {
          const { status, json } = await portal();
          assert.equal(status, 200);
          assert.ok(URL.canParse(json.portalUrl.replace(/[{}]/g, '')));
        });
        assert.deepEqual(opened?.form, {
          customer: 'cus_portal',
          return_url: 'http://countersign.test/billing/return',
        });
        assert.equal((await actionsOf(organizationId)).at(-1), 'billing.portal_opened');
      },
    );

    await context.test(
      '204 cancel: at the end of the paid period, one request, the plan stays until then',
      async () => {
        const { organizationId, admin, member } = await createOrganization();
        await sendEvent(await about(organizationId, { id: 'sub_ends' }));
        const [asks, ...more] = await since(async () => {
          assert.equal((await cancel(admin)).status, 204);
          assert.equal((await cancel(admin)).status, 204);
        });
        assert.deepEqual(asks, {
          what: 'POST /v1/subscriptions/sub_ends',
          form: { cancel_at_period_end: 'true' },
        });
        assert.deepEqual(more, []);
        const shown = await subscription(member);
        assert.deepEqual([shown.tier, shown.status, shown.cancelAtPeriodEnd], ['pro', 'active', true]);
        const events = ['organization.updated', 'billing.cancellation_requested'];
        assert.deepEqual(await actionsOf(organizationId), events);
        // Stripe's event repeats the known state; then the subscription ends.
        const told = { id: 'sub_ends', cancel_at_period_end: true };
        const item = { price: prices.pro, current_period_end: Date.parse(shown.currentPeriodEnd) / 1000 };
        await sendEvent(await about(organizationId, { ...told, items: { data: [item] } }));
        assert.deepEqual(await actionsOf(organizationId), events);
        await sendEvent(await about(organizationId, { ...told, status: 'canceled' }));
        const ended = await subscription(member);
        assert.deepEqual([ended.tier, ended.status, ended.cancelAtPeriodEnd], ['free', 'canceled', false]);
      },
    );

    await context.test('204 cancel of an unpaid subscription: at once', async () => {
      const { organizationId, admin } = await createOrganization();
      await sendEvent(await about(organizationId, { id: 'sub_unpaid', status: 'incomplete' }));
      const [asks] = await since(() => cancel(admin));
      assert.equal(asks?.what, 'DELETE /v1/subscriptions/sub_unpaid');
    });

    await context.test('a deleted organization is no longer charged, a suspended one is', async () => {
      const [deleted, suspended] = [await createOrganization(), await createOrganization()];
      for (const { organizationId } of [deleted, suspended]) {
        await sendEvent(await about(organizationId, { id: `sub_of_${organizationId}` }));
        await asOperator('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
      }
      await asOperator('DELETE', `/organizations/${deleted.organizationId}`);
      const round = (signal = new AbortController().signal) => endOrphans(t, signal);
      assert.deepEqual(await since(round), [
        {
          what: `POST /v1/subscriptions/sub_of_${deleted.organizationId}`,
          form: { cancel_at_period_end: 'true' },
        },
      ]);
      assert.deepEqual(await since(round), []);
      assert.equal((await actionsOf(deleted.organizationId)).at(-1), 'billing.cancellation_requested');
    });

    await context.test(
      'a subscription that cannot be cancelled does not block others; an unknown one counts as ended',
      async () => {
        const payers = [await createOrganization(), await createOrganization(), await createOrganization()];
        const [failing, missing, last] = payers.map(({ organizationId }) => organizationId).toSorted();
        for (const id of [failing, missing, last] as string[]) {
          await sendEvent(await about(id, { id: `sub_of_${id}` }));
          await asOperator('PATCH', `/organizations/${id}`, { status: 'suspended' });
          await asOperator('DELETE', `/organizations/${id}`);
        }
        recorder.beforeRequest = async (what) => {
          const type = 'invalid_request_error';
          if (what.endsWith(`${failing}`)) return { status: 400, error: { type, code: 'other' } };
          if (what.endsWith(`${missing}`)) return { status: 404, error: { type, code: 'resource_missing' } };
          return undefined;
        };
        const whats = async (signal = new AbortController().signal) =>
          (await since(() => endOrphans(t, signal))).map(({ what }) => what);
        const ask = (id: string | undefined) => `POST /v1/subscriptions/sub_of_${id}`;
        assert.deepEqual(await whats(AbortSignal.abort()), []);
        assert.deepEqual(await whats(), [ask(failing), ask(missing), ask(last)]);
        assert.deepEqual(await whats(), [ask(failing)]);
        // When it must stop within a run, it leaves the others for the next.
        await t.sql(
          'update billing_subscriptions set cancel_at_period_end = false where organization_id = $1',
          [last],
        );
        const stopping = new AbortController();
        recorder.beforeRequest = async () => {
          stopping.abort();
          return undefined;
        };
        assert.deepEqual(await whats(stopping.signal), [ask(failing)]);
        recorder.beforeRequest = nothing;
        const found = await t.sql(
          'select status, granted_tier from billing_subscriptions where organization_id = $1',
          [missing],
        );
        assert.deepEqual(found, [{ status: 'canceled', granted_tier: null }]);
        assert.equal((await actionsOf(missing as string)).at(-1), 'billing.subscription_updated');
        assert.equal((await actionsOf(last as string)).at(-1), 'billing.cancellation_requested');
      },
    );

    await context.test(
      '204 cancel of a subscription from the embedded provider, before Stripe was configured',
      async () => {
        const { organizationId, admin, member } = await createOrganization({ planTier: 'pro' });
        await t.sql(
          `insert into billing_subscriptions values
           ($1, 'embedded', 'cus_e', 'sub_e', 'pro', 'active', 'pro', now() - interval '1 day', false, now(), now(), now())`,
          [organizationId],
        );
        assert.deepEqual(await since(() => cancel(admin)), []);
        const ended = await subscription(member);
        assert.deepEqual([ended.tier, ended.status, ended.provider], ['free', 'canceled', 'embedded']);
      },
    );

    await context.test(
      '200 applied: of two events of one second, the current state at Stripe counts',
      async () => {
        const { organizationId, member } = await createOrganization();
        const created = Math.floor(t.clock.now() / 1000) - 5;
        const id = 'sub_tied';
        await sendEvent(await about(organizationId, { id, status: 'incomplete' }, { created }));
        const asks = await since(async () => {
          const answer = await sendEvent(
            await about(organizationId, { id, status: 'past_due', tier: 'enterprise' }, { created }),
          );
          assert.equal(answer.json.outcome, 'applied');
        });
        assert.deepEqual(
          asks.map(({ what }) => what),
          ['GET /v1/subscriptions/sub_tied'],
        );
        // stripe-mock's subscription is active and of the pro plan.
        const { tier, status } = await subscription(member);
        assert.deepEqual([tier, status], ['pro', 'active']);
      },
    );

    await context.test('during a call to Stripe no lock is held and no transaction is open', async () => {
      const { organizationId } = await createOrganization();
      const created = Math.floor(t.clock.now() / 1000) - 5;
      await sendEvent(await about(organizationId, { id: 'sub_open', status: 'incomplete' }, { created }));
      let open: unknown;
      recorder.beforeRequest = async () => {
        await t.sql('select 1 from organizations where organization_id = $1 for update nowait', [
          organizationId,
        ]);
        open = await t.sql(
          `select query from pg_stat_activity
           where datname = current_database() and state like 'idle in transaction%'`,
        );
        return undefined;
      };
      const answer = await sendEvent(await about(organizationId, { id: 'sub_open' }, { created }));
      recorder.beforeRequest = nothing;
      assert.equal(answer.json.outcome, 'applied');
      assert.deepEqual(open, []);
    });

    await context.test(
      '503, then applied on retry: the state from Stripe is outdated when another event was applied during the call',
      async () => {
        const { organizationId, member } = await createOrganization();
        const created = Math.floor(t.clock.now() / 1000) - 5;
        const of = { id: 'sub_between' };
        await sendEvent(await about(organizationId, { ...of, status: 'incomplete' }, { created }));
        recorder.beforeRequest = async () => {
          recorder.beforeRequest = nothing;
          await sendEvent(await about(organizationId, { ...of, status: 'past_due' }, { created }));
        };
        const signed = await about(organizationId, of, { created });
        assert.equal((await sendEvent(signed)).json.code, 'SERVICE_UNAVAILABLE');
        assert.equal((await sendEvent(signed)).json.outcome, 'applied');
        assert.equal((await subscription(member)).status, 'active');
      },
    );

    await context.test(
      '200 of two paid subscriptions the later one counts, and the log warns the operator',
      async () => {
        const { organizationId, member } = await createOrganization();
        await sendEvent(
          await about(organizationId, { id: 'sub_a', tier: 'enterprise', created: 1_000_000_000 }),
        );
        // stripe-mock's subscription was created after this one, and long before the next.
        assert.equal((await sendEvent(await about(organizationId, { id: 'sub_b' }))).json.outcome, 'applied');
        assert.equal((await subscription(member)).tier, 'pro');
        assert.ok(t.logs.some((line) => line.includes('two subscriptions') && line.includes('sub_a')));
        const other = await createOrganization();
        await sendEvent(
          await about(other.organizationId, { id: 'sub_c', tier: 'enterprise', created: 1_900_000_000 }),
        );
        assert.equal(
          (await sendEvent(await about(other.organizationId, { id: 'sub_d' }))).json.outcome,
          'late',
        );
        assert.equal((await subscription(other.member)).tier, 'enterprise');
      },
    );
  });

  it('503 SERVICE_UNAVAILABLE when Stripe refuses our key; the key is not logged', async (context) => {
    if (!mock) return skipWithout(context, 'stripe-mock');
    const secretKey = `rk_${randomUUID()}`;
    const { t, createOrganization, checkout, auditEvents } = await start(secretKey);
    const { organizationId, member } = await createOrganization();
    const { status, json, text } = await checkout(member, 'pro');
    assert.deepEqual([status, json.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(!text.includes(secretKey));
    assert.deepEqual(await auditEvents(organizationId), []);
    assert.ok(t.logs.some((line) => line.includes('StripeAuthenticationError')));
    assert.equal(
      t.logs.find((line) => line.includes(secretKey)),
      undefined,
    );
  });
});
