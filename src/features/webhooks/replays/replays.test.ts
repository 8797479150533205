/** POST /webhooks/{id}/deliveries/replay, and GET /webhooks/{id}/deliveries by status. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import pg from 'pg';
import { type RequestHandler, startReceiver } from '../../../../test/support/peers/receivers.ts';
import { createMatrixFixture } from '../../../../test/support/principals.ts';
import { api, startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';

const t = await startWebhookApp({ WEBHOOK_MAX_RETRIES: '2' });
const { agentIn } = await createMatrixFixture(t);
const day = 86_400_000;
const iso = (time: number) => new Date(time).toISOString();
const hourAgo = () => iso(t.clock.now() - 3_600_000);

const replay = async (id: string, payload: object = { since: hourAgo() }, token?: string) =>
  t.call('POST', `${api}/${id}/deliveries/replay`, { token: token ?? (await t.token()), payload });
const replayed = async (id: string, payload?: object) => {
  const { status, json, text } = await replay(id, payload);
  assert.equal(status, 202, text);
  return json;
};
const list = async (id: string, query = '') =>
  (await t.call('GET', `${api}/${id}/deliveries?limit=100${query}`, { token: await t.token() })).json;

/** Deliveries of the status, an interval apart, the first one at `from`. */
async function insert(
  id: string,
  status: string,
  count: number,
  { from = t.clock.now() - 600_000, every = 1 } = {},
): Promise<string[]> {
  const rows = await t.sql<{ id: string }>(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, attempt_count, attempts, http_status_code,
        next_retry_at, due_at, delivered_at, created_at, updated_at)
     select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'token.revoked',
            json_build_object('data', json_build_object('agentId', $6::uuid))::text, $2::text, 1,
            jsonb_build_array(jsonb_build_object('attempted_at', $4::timestamptz, 'duration_ms', 1, 'http_status_code', 500, 'error', null)),
            500, case when $2 = 'failed' then $7::timestamptz end,
            case $2 when 'failed' then $7::timestamptz when 'pending' then $7::timestamptz end,
            case when $2 = 'delivered' then $4::timestamptz end,
            $4::timestamptz + n * $5::int * interval '1 ms', $4::timestamptz
     from generate_series(0, $3::int - 1) as n order by n returning delivery_id as id`,
    [id, status, count, iso(from), every, t.operator.agentId, iso(t.clock.now() + 7 * day)],
  );
  return rows.map(({ id: deliveryId }) => deliveryId);
}

/** A subscription to an event that the tests do not raise. */
async function subscribed(answer?: RequestHandler) {
  const receiver = await startReceiver(answer);
  const { id } = await t.subscribe(receiver.url, ['token.revoked']);
  const sentIds = () => receiver.received.map(({ headers }) => headers['x-service-delivery-id'] ?? '').sort();
  return { id, receiver, sentIds };
}

describe('POST /webhooks/{id}/deliveries/replay', () => {
  it('202 with the count of failed deliveries and dead letters, which are sent again under their ids', async () => {
    const { id, sentIds } = await subscribed();
    const failed = await insert(id, 'failed', 3);
    const dead = await insert(id, 'dead_letter', 2);
    await insert(id, 'delivered', 4);
    await insert(id, 'pending', 5);
    assert.deepEqual(await replayed(id), { count: 5 });
    assert.deepEqual(sentIds(), [], 'in the background');
    await t.drain();
    assert.deepEqual(sentIds(), [...failed, ...dead].sort());
    const { deliveries } = await list(id, '&status=delivered');
    const again = deliveries.filter((one: { id: string }) => sentIds().includes(one.id));
    assert.equal(again.length, 5);
    for (const { attempt_count, attempts, http_status_code, next_retry_at } of again)
      assert.deepEqual([attempt_count, attempts.length, http_status_code, next_retry_at], [1, 2, 204, null]);
    assert.deepEqual(await t.sql('select 1 from webhook_replays where subscription_id = $1', [id]), []);
  });

  it('202 replays one status only, when it is given', async () => {
    for (const status of ['delivered', 'failed', 'dead_letter']) {
      const { id, sentIds } = await subscribed();
      const ids: Record<string, string[]> = {};
      for (const one of ['delivered', 'failed', 'dead_letter', 'pending'])
        ids[one] = await insert(id, one, 2);
      assert.deepEqual(await replayed(id, { status, since: hourAgo() }), { count: 2 });
      await t.drain();
      assert.deepEqual(sentIds(), ids[status]?.toSorted());
    }
  });

  it('202 from since to until, both included; later deliveries are not part of it', async () => {
    const { id, sentIds } = await subscribed();
    const from = t.clock.now() - 600_000;
    const ids = await insert(id, 'dead_letter', 10, { from, every: 1_000 });
    const period = { since: iso(from + 2_000), until: iso(from + 5_000) };
    assert.deepEqual(await replayed(id, period), { count: 4 });
    assert.deepEqual(await replayed(id, { since: iso(from + 9_000), until: '9999-12-31T23:59:59Z' }), {
      count: 1,
    });
    await insert(id, 'dead_letter', 1, { from: t.clock.now() + 1_000 });
    await t.drain();
    assert.deepEqual(sentIds(), [...ids.slice(2, 6), ...ids.slice(9)].sort());
  });

  it('202 with offsets and without milliseconds; 202 for any time in the past', async () => {
    const { id } = await subscribed();
    await insert(id, 'failed', 1);
    await insert(id, 'failed', 1, { from: t.clock.now() - 31 * day });
    const plusTwo = `${iso(t.clock.now() - 3_600_000 + 7_200_000).slice(0, 19)}+02:00`;
    assert.deepEqual(await replayed(id, { since: plusTwo }), { count: 1 });
    for (const since of [iso(t.clock.now() - 30 * day), '2025-01-31T12:00:00Z', '0000-01-01T00:00:00Z'])
      assert.deepEqual(await replayed(id, { since }), { count: 1 }, since);
    for (const until of ['0000-01-02T00:00:00Z', '0001-01-01T00:00:00Z', iso(t.clock.now() - 30.5 * day)])
      assert.deepEqual(await replayed(id, { since: '0000-01-01T00:00:00Z', until }), { count: 0 }, until);
  });

  it('202 with count 0, without an audit event, when nothing matches', async () => {
    const { id } = await subscribed();
    await insert(id, 'pending', 3);
    assert.deepEqual(await replayed(id), { count: 0 });
    assert.deepEqual(await t.sql('select 1 from webhook_replays where subscription_id = $1', [id]), []);
    assert.deepEqual(await auditOf(id), []);
  });

  it('202 records one audit event with the count, however many are replayed', async () => {
    const { id } = await subscribed();
    await insert(id, 'failed', 40);
    const since = hourAgo();
    await replayed(id, { since });
    await t.drain();
    const events = await auditOf(id);
    assert.equal(events.length, 1);
    const { count, statuses, since: recorded } = events[0]?.metadata ?? {};
    assert.deepEqual([count, statuses, recorded], [40, ['failed', 'dead_letter'], since]);
  });

  it('202 more than a chunk: each is sent once, in the background', async () => {
    const { id, receiver, sentIds } = await subscribed();
    const ids = await insert(id, 'dead_letter', 2_300);
    assert.deepEqual(await replayed(id), { count: 2_300 });
    await t.drain();
    assert.equal(receiver.received.length, 2_300);
    assert.deepEqual(sentIds(), ids.sort());
  });

  it('202 ten at once: each delivery is sent once, also when it is refused again', async () => {
    for (const answer of [204, 500]) {
      const { id, receiver, sentIds } = await subscribed((_request, response) => {
        response.writeHead(answer).end();
      });
      const ids = [...(await insert(id, 'dead_letter', 30)), ...(await insert(id, 'delivered', 30))];
      const requests = Array.from({ length: 10 }, (_, n) =>
        replayed(id, { since: hourAgo(), ...(n % 2 === 0 && { status: 'delivered' }) }),
      );
      for (const { count } of await Promise.all(requests)) assert.equal(count, 30);
      await t.drain();
      assert.equal(receiver.received.length, 60);
      assert.deepEqual(sentIds(), ids.sort());
    }
  });

  it('202 two at once, the second run after the first is sent: each delivery is sent once', async () => {
    const { id, receiver } = await subscribed();
    await insert(id, 'delivered', 3);
    for (let count = 0; count < 2; count += 1)
      assert.deepEqual(await replayed(id, { status: 'delivered', since: hourAgo() }), { count: 3 });
    // As a process that is running the second replay.
    const other = new pg.Client({ connectionString: t.databaseUrl });
    await other.connect();
    await other.query('begin');
    const newest = 'select max(number) from webhook_replays where subscription_id = $1';
    await other.query(`select 1 from webhook_replays where number = (${newest}) for update`, [id]);
    await t.drain();
    assert.equal(receiver.received.length, 3);
    await other.end();
    await t.drain();
    assert.equal(receiver.received.length, 3);
    assert.deepEqual(await t.sql('select 1 from webhook_replays where subscription_id = $1', [id]), []);
  });

  it('202 a later replay sends them once more', async () => {
    const { id, receiver } = await subscribed();
    await insert(id, 'delivered', 3);
    for (const sent of [3, 6]) {
      assert.deepEqual(await replayed(id, { status: 'delivered', since: hourAgo() }), { count: 3 });
      await t.drain();
      assert.equal(receiver.received.length, sent);
    }
  });

  it('202 for an inactive subscription: the deliveries wait until it is active', async () => {
    const { id, receiver } = await subscribed();
    await insert(id, 'failed', 3);
    const patch = async (active: boolean) =>
      t.call('PATCH', `${api}/${id}`, { token: await t.token(), payload: { active } });
    await patch(false);
    assert.deepEqual(await replayed(id), { count: 3 });
    await t.drain();
    assert.equal(receiver.connections(), 0);
    await patch(true);
    await t.drain();
    assert.equal(receiver.received.length, 3);
  });

  it('202 a failed replay starts the retry schedule anew', async () => {
    const { id } = await subscribed((_request, response) => void response.writeHead(500).end());
    await insert(id, 'dead_letter', 1);
    await replayed(id);
    await t.drain();
    const { deliveries } = await list(id);
    assert.deepEqual([deliveries[0].status, deliveries[0].attempt_count], ['failed', 1]);
    assert.equal(Date.parse(deliveries[0].next_retry_at) - Date.parse(deliveries[0].updated_at), 60_000);
  });

  it('202 while a backlog waits: the replay continues when it is sent, and new events are not behind it', async () => {
    const { id, receiver } = await subscribed();
    const ids = await insert(id, 'dead_letter', 1_500);
    await t.insertDeliveries(id, 1_001);
    await replayed(id);
    // The first round finds the backlog, the next one after it was sent does not.
    await t.drain();
    assert.equal(receiver.received.length, 1_001);
    await t.drain();
    assert.equal(receiver.received.length, 1_001 + ids.length);
  });

  it('204 deletes a subscription with its replays', async () => {
    const { id } = await subscribed();
    await insert(id, 'failed', 3);
    await replayed(id);
    assert.equal((await t.call('DELETE', `${api}/${id}`, { token: await t.token() })).status, 204);
    await t.drain();
    assert.deepEqual(await t.sql('select 1 from webhook_replays where subscription_id = $1', [id]), []);
  });

  it('429 RATE_LIMIT_EXCEEDED while ten replays of the subscription are under way; nothing is recorded', async () => {
    const { id } = await subscribed();
    await insert(id, 'failed', 1);
    for (let count = 0; count < 10; count += 1) await replayed(id);
    const refused = await replay(id);
    assert.deepEqual([refused.status, refused.json.code], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.match(refused.json.message, /replays of this subscription/);
    assert.equal((await auditOf(id)).length, 10);
    await t.drain();
    assert.deepEqual(await replayed(id), { count: 0 });
  });

  const bad: [string, () => unknown, string?][] = [
    ['no since', () => ({}), 'since'],
    ['no body', () => undefined],
    ['an array', () => []],
    ['since null', () => ({ since: null }), 'since'],
    ['since as a number', () => ({ since: 1 }), 'since'],
    ['since without a time', () => ({ since: '2026-01-01' }), 'since'],
    ['since that is no time', () => ({ since: 'yesterday' }), 'since'],
    ['a leap second', () => ({ since: '2016-12-31T23:59:60Z' }), 'since'],
    [
      'until before retention',
      () => ({ since: iso(t.clock.now() - 31 * day), until: iso(t.clock.now() - 32 * day) }),
      'until',
    ],
    ['since in the future', () => ({ since: iso(t.clock.now() + day) }), 'since'],
    ['until before since', () => ({ since: hourAgo(), until: iso(t.clock.now() - 2 * 3_600_000) }), 'until'],
    ['until that is no time', () => ({ since: hourAgo(), until: '' }), 'until'],
    ['pending', () => ({ since: hourAgo(), status: 'pending' }), 'status'],
    ['an unknown status', () => ({ since: hourAgo(), status: 'lost' }), 'status'],
    ['a list of statuses', () => ({ since: hourAgo(), status: ['failed'] }), 'status'],
    ['an unknown field', () => ({ since: hourAgo(), limit: 5 }), 'limit'],
  ];
  it('400 VALIDATION_ERROR that names the field; nothing is replayed', async () => {
    const { id } = await subscribed();
    await insert(id, 'failed', 1);
    for (const [what, payload, field] of bad) {
      const body = payload();
      const { status, json } = await t.call('POST', `${api}/${id}/deliveries/replay`, {
        token: t.bearer,
        ...(body !== undefined && { payload: body as object }),
      });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], what);
      if (field) assert.equal(json.details.fields[0].field, field, what);
    }
    assert.deepEqual(await t.sql('select 1 from webhook_replays where subscription_id = $1', [id]), []);
  });

  it('404 WEBHOOK_NOT_FOUND for another organization; 403 INSUFFICIENT_SCOPE for a reader', async () => {
    const { id } = await subscribed();
    const payload = { name: 'Other', slug: `other-${randomUUID()}` };
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', { token: await t.token(), payload })
    ).json;
    const foreign = await agentIn(organizationId, ['webhooks:read', 'webhooks:write']);
    const missing = await replay(id, undefined, foreign.token);
    assert.deepEqual([missing.status, missing.json.code], [404, 'WEBHOOK_NOT_FOUND']);
    const reader = await agentIn(t.operator.organizationId, ['webhooks:read']);
    const refused = await replay(id, undefined, reader.token);
    assert.deepEqual([refused.status, refused.json.code], [403, 'INSUFFICIENT_SCOPE']);
  });
});

const auditOf = (id: string) =>
  t.sql<{ metadata: Record<string, unknown> }>(
    "select metadata from audit_events where action = 'webhook.replayed' and metadata ->> 'webhookId' = $1",
    [id],
  );

describe('GET /webhooks/{id}/deliveries?status=', () => {
  it('200 with the deliveries of the status only; total counts them only', async () => {
    const { id } = await subscribed();
    const counts = { pending: 1, delivered: 4, failed: 2, dead_letter: 3 };
    for (const [status, count] of Object.entries(counts)) await insert(id, status, count);
    for (const [status, count] of Object.entries(counts)) {
      const { deliveries, total } = await list(id, `&status=${status}`);
      assert.deepEqual([deliveries.length, total], [count, count]);
      for (const delivery of deliveries) assert.equal(delivery.status, status);
    }
    assert.equal((await list(id)).total, 10);
    const page = await t.call('GET', `${api}/${id}/deliveries?status=delivered&limit=3&offset=3`, {
      token: await t.token(),
    });
    assert.deepEqual([page.json.deliveries.length, page.json.total, page.json.offset], [1, 4, 3]);
    const times = (await list(id, '&status=delivered')).deliveries.map(
      ({ created_at }: { created_at: string }) => created_at,
    );
    assert.deepEqual(times, times.toSorted().reverse());
  });

  it('400 VALIDATION_ERROR for another status', async () => {
    const { id } = await subscribed();
    for (const query of ['status=lost', 'status=', 'status=failed&status=delivered', 'status=FAILED']) {
      const { status, json } = await t.call('GET', `${api}/${id}/deliveries?${query}`, { token: t.bearer });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], query);
    }
  });
});
