/** Deliveries as people look at them: one delivery, a time range, counts by status, and the responses of the receiver. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startReceiver } from '../../../../test/support/peers/receivers.ts';
import { createMatrixFixture } from '../../../../test/support/principals.ts';
import { api, startWebhookApp, type WebhookApp } from '../../../../test/support/scenarios/webhooks.ts';

const t = await startWebhookApp();
const { agentIn } = await createMatrixFixture(t);
const iso = (time: number) => new Date(time).toISOString();
const get = (path: string, token = t.bearer) => t.call('GET', `${api}/${path}`, { token });

/** The attempt that a receiver with this response has, after one test delivery. */
async function attemptWith(app: WebhookApp, body: string | Buffer, status = 500) {
  const receiver = await startReceiver((_request, response) => void response.writeHead(status).end(body));
  const { id } = await app.subscribe(receiver.url, ['token.revoked']);
  await app.call('POST', `${api}/${id}/test`, { token: app.bearer });
  await app.drain();
  const [delivery] = await app.deliveries(id);
  return { id, delivery, attempt: delivery?.attempts[0] };
}

describe('response_excerpt', () => {
  it('200 with the beginning of the response, for failures and successes; null without a body', async () => {
    for (const status of [200, 500]) {
      const { attempt } = await attemptWith(t, '{"error":"bad signature"}', status);
      assert.deepEqual(
        [attempt?.http_status_code, attempt?.response_excerpt],
        [status, '{"error":"bad signature"}'],
      );
    }
    assert.equal((await attemptWith(t, '', 204)).attempt?.response_excerpt, null);
  });

  it('200 with at most 512 characters, never half of one', async () => {
    assert.equal((await attemptWith(t, 'x'.repeat(100_000))).attempt?.response_excerpt, 'x'.repeat(512));
    assert.equal((await attemptWith(t, '🦉'.repeat(600))).attempt?.response_excerpt, '🦉'.repeat(512));
  });

  it('200 with bytes that are no text, NUL and escapes replaced; the other deliveries of the batch are recorded', async () => {
    const { delivery, attempt } = await attemptWith(t, Buffer.from([0x61, 0, 0xff, 0x1b, 0x5b, 0x0a, 0x62]));
    assert.equal(attempt?.response_excerpt, 'a\ufffd\ufffd\ufffd[\nb');
    assert.deepEqual([delivery?.status, delivery?.attempt_count], ['failed', 1]);
  });

  it('200 without secrets that the receiver names', async () => {
    const secret = `whsec_${Buffer.alloc(32, 251).toString('base64')}`;
    const { attempt } = await attemptWith(t, `expected ${secret}, client cs_${'a'.repeat(43)}.`);
    assert.equal(attempt?.response_excerpt, 'expected whsec_[removed], client cs_[removed].');
    const late = await attemptWith(t, `${'x'.repeat(500)} ${secret}`);
    assert.equal(late.attempt?.response_excerpt, `${'x'.repeat(500)} whsec_[remo`);
  });

  it('200 null for attempts of an earlier version', async () => {
    const { id, delivery } = await attemptWith(t, 'no');
    await t.sql(
      `update webhook_deliveries set attempts = jsonb_build_array((attempts -> 0) - 'response_excerpt') where delivery_id = $1`,
      [delivery?.id],
    );
    assert.equal((await t.deliveries(id))[0]?.attempts[0]?.response_excerpt, null);
  });

  it('200 null where tenants may call private addresses: they would read services of the operator', async () => {
    const multiTenant = await startWebhookApp({ MULTI_TENANT: 'true' });
    const { attempt } = await attemptWith(multiTenant, 'internal');
    assert.deepEqual([attempt?.http_status_code, attempt?.response_excerpt], [500, null]);
  });
});

describe('GET /webhooks/{id}/deliveries/{deliveryId}', () => {
  it('200 as in the list; 404 WEBHOOK_NOT_FOUND for an unknown one and for one of another subscription', async () => {
    const { id, delivery } = await attemptWith(t, 'no');
    const other = await attemptWith(t, 'no');
    const { status, json } = await get(`${id}/deliveries/${delivery?.id}`);
    assert.equal(status, 200);
    assert.deepEqual(json, delivery);
    for (const deliveryId of [randomUUID(), other.delivery?.id]) {
      const missing = await get(`${id}/deliveries/${deliveryId}`);
      assert.deepEqual([missing.status, missing.json.code], [404, 'WEBHOOK_NOT_FOUND']);
    }
    assert.equal((await get(`${id}/deliveries/x`)).json.code, 'VALIDATION_ERROR');
  });
});

/** One delivery of each status at each of the times. */
async function insert(id: string, times: readonly number[]) {
  await t.sql(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, created_at, updated_at)
     select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'token.revoked',
            json_build_object('data', json_build_object('agentId', $3::uuid))::text, status, time, time
     from unnest($2::timestamptz[]) as time, unnest('{delivered,failed,dead_letter,dead_letter}'::text[]) as status`,
    [id, times.map(iso), t.operator.agentId],
  );
}

describe('GET /webhooks/{id}/deliveries and …/counts?since=&until=', () => {
  it('200 with the deliveries of the time range, both ends included, and their counts by status', async () => {
    const { id } = await t.subscribe('https://receiver.invalid/', ['token.revoked']);
    const start = t.clock.now() - 3_600_000;
    await insert(id, [start, start + 1_000, start + 2_000, start + 3_000]);
    const open_replays = 0;
    const cases: [string, number][] = [
      ['', 4],
      [`since=${iso(start + 1_000)}`, 3],
      [`until=${iso(start)}`, 1],
      [`since=${iso(start + 1_000)}&until=${iso(start + 2_000)}`, 2],
      [`since=${iso(start + 3_001)}`, 0],
      ['since=0000-01-01T00:00:00Z&until=9999-12-31T23:59:59-23:59', 4],
      [`since=${encodeURIComponent(`${iso(start + 1_000 + 7_200_000).slice(0, 19)}+02:00`)}`, 3],
    ];
    for (const [query, times] of cases) {
      const all = (await get(`${id}/deliveries?limit=100&${query}`)).json;
      assert.deepEqual([all.total, all.deliveries.length], [times * 4, times * 4], query);
      const dead = (await get(`${id}/deliveries?status=dead_letter&${query}`)).json;
      assert.deepEqual([dead.total, dead.deliveries.length], [times * 2, times * 2], query);
      const counts = (await get(`${id}/deliveries/counts?${query}`)).json;
      assert.deepEqual(
        counts,
        { pending: 0, delivered: times, failed: times, dead_letter: times * 2, open_replays },
        query,
      );
    }
  });

  it('200 counts a replay of many until it has reached all of its deliveries', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url, ['token.revoked']);
    await insert(id, [t.clock.now() - 1_000]);
    const payload = { since: iso(t.clock.now() - 60_000) };
    const { json } = await t.call('POST', `${api}/${id}/deliveries/replay`, { token: t.bearer, payload });
    assert.equal(json.count, 3);
    const before = (await get(`${id}/deliveries/counts`)).json;
    assert.deepEqual(before, { pending: 0, delivered: 1, failed: 1, dead_letter: 2, open_replays: 1 });
    await t.drain();
    const after = (await get(`${id}/deliveries/counts`)).json;
    assert.deepEqual(after, { pending: 0, delivered: 4, failed: 0, dead_letter: 0, open_replays: 0 });
  });

  it('400 VALIDATION_ERROR that names the field', async () => {
    const { id } = await t.subscribe('https://receiver.invalid/', ['token.revoked']);
    const bad: [string, string][] = [
      ['since=yesterday', 'since'],
      ['since=', 'since'],
      ['since=2030-02-31T00:00:00Z', 'since'],
      ['until=2016-12-31T23:59:60Z', 'until'],
      ['since=2030-01-02T00:00:00Z&until=2030-01-01T00:00:00Z', 'until'],
    ];
    for (const [query, field] of bad)
      for (const path of ['deliveries', 'deliveries/counts']) {
        const { status, json } = await get(`${id}/${path}?${query}`);
        assert.deepEqual(
          [status, json.code, json.details.fields[0].field],
          [400, 'VALIDATION_ERROR', field],
          query,
        );
      }
  });

  it('404 WEBHOOK_NOT_FOUND for another organization', async () => {
    const { id, delivery } = await attemptWith(t, 'no');
    const payload = { name: 'Other', slug: `other-${randomUUID()}` };
    const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: t.bearer, payload }))
      .json;
    const { token } = await agentIn(organizationId, ['webhooks:read']);
    for (const path of [`${id}/deliveries`, `${id}/deliveries/counts`, `${id}/deliveries/${delivery?.id}`]) {
      const { status, json } = await get(path, token);
      assert.deepEqual([status, json.code], [404, 'WEBHOOK_NOT_FOUND'], path);
    }
  });
});
