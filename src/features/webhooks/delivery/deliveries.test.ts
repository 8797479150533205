/** Deliveries: which events go to which subscriptions, their form and signature, tests, replays, retention. */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newAgent } from '../../../../test/support/harness.ts';
import { type Received, startReceiver } from '../../../../test/support/peers/receivers.ts';
import { createMatrixFixture } from '../../../../test/support/principals.ts';
import { api, startWebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import { webhookEvents } from '../../../contract/events.ts';

const t = await startWebhookApp({ DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') });
const { agentIn } = await createMatrixFixture(t);

const bodyOf = ({ body }: Received) => JSON.parse(body);

/** As the spec defines it. */
function requireOurSignature({ headers, body }: Received, secret: string): void {
  const timestamp = headers['x-service-timestamp'];
  const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  assert.equal(headers['x-service-signature-256'], `sha256=${expected}`);
}

const ask = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await t.call(method, `/api/v1${url}`, { token: t.bearer, ...(payload && { payload }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.text === '' ? undefined : answer.json;
};

/** Causes each of the ten events of agents, credentials and tokens once. */
async function causeEachEvent() {
  const agent = await ask('POST', '/agents', newAgent({ allowedScopes: ['agents:read'] }));
  const { agentId } = agent;
  const minted = await ask('POST', `/agents/${agentId}/credentials`, { expiresAt: '2090-01-01T00:00:00Z' });
  const rotated = await ask('POST', `/agents/${agentId}/credentials/${minted.credentialId}/rotate`);
  const token = await t.token(undefined, rotated);
  await t.form('/api/v1/token/revoke', { token }, t.bearer);
  await ask('DELETE', `/agents/${agentId}/credentials/${minted.credentialId}`);
  await ask('PATCH', `/agents/${agentId}`, { owner: 'others' });
  await ask('PATCH', `/agents/${agentId}`, { status: 'suspended' });
  await ask('PATCH', `/agents/${agentId}`, { status: 'active' });
  await ask('DELETE', `/agents/${agentId}`);
  return { agent, minted, rotated, token };
}

describe('events', () => {
  it('of agents, credentials and tokens, all ten, are delivered to `*`, one to a subscription for one; each with its data and without secrets', async () => {
    const [all, one] = [await startReceiver(), await startReceiver()];
    const everything = await t.subscribe(`${all.url}/all?x=1`, ['*']);
    await t.subscribe(one.url, ['agent.suspended']);
    const { agent, minted, rotated, token } = await causeEachEvent();
    await t.drain();

    const byType = new Map(all.received.map((received) => [bodyOf(received).type, bodyOf(received)]));
    assert.deepEqual(
      [...byType.keys()].sort(),
      webhookEvents.filter((type) => /^(agent|credential|token)\.(?!refused)/.test(type)).sort(),
    );
    assert.equal(all.received.length, 10);
    assert.deepEqual(
      one.received.map(bodyOf).map(({ type }) => type),
      ['agent.suspended'],
    );

    const { agentId, agentType, version, deploymentEnv } = agent;
    const ofAgent = { agentId, agentType, version, deploymentEnv };
    const agents = [
      ['agent.created', 'active', 'talent-team'],
      ['agent.updated', 'active', 'others'],
      ['agent.suspended', 'suspended', 'others'],
      ['agent.reactivated', 'active', 'others'],
      ['agent.decommissioned', 'decommissioned', 'others'],
    ] as const;
    for (const [type, status, owner] of agents)
      assert.deepEqual(byType.get(type).data, { ...ofAgent, status, owner }, type);
    const credential = {
      agentId,
      credentialId: minted.credentialId,
      credentialType: 'client_secret',
      scopes: ['agents:read'],
      expiresAt: '2090-01-01T00:00:00.000Z',
    };
    for (const type of ['credential.generated', 'credential.rotated', 'credential.revoked'])
      assert.deepEqual(byType.get(type).data, credential, type);
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const issued = {
      agentId,
      tokenId: claims.jti,
      scope: 'agents:read',
      audience: 'http://countersign.test',
      expiresAt: new Date(claims.exp * 1000).toISOString(),
    };
    assert.deepEqual(byType.get('token.issued').data, issued);
    assert.deepEqual(byType.get('token.revoked').data, issued);

    const audited = new Set(
      (await t.sql<{ id: string }>('select event_id as id from audit_events')).map(({ id }) => id),
    );
    for (const { id, organizationId, timestamp, ...rest } of byType.values()) {
      assert.ok(audited.has(id));
      assert.equal(organizationId, t.operator.organizationId);
      assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.deepEqual(Object.keys(rest), ['type', 'data']);
    }
    const sent = JSON.stringify(all.received);
    for (const secret of [minted.clientSecret, rotated.clientSecret, token, everything.signingSecret])
      assert.ok(!sent.includes(secret));
    assert.equal(all.received[0]?.url, '/all?x=1');
  });

  it('of other organizations and failed changes are not delivered; a refused token request is', async () => {
    const receiver = await startReceiver();
    await t.subscribe(receiver.url, ['*']);
    const slug = `other-${randomUUID()}`;
    const { organizationId } = await ask('POST', '/organizations', { name: 'Other', slug });
    await agentIn(organizationId, []);
    const wrong = { client_id: t.operator.clientId, client_secret: 'cs_wrong' };
    assert.equal((await t.askToken({ grant_type: 'client_credentials', ...wrong })).status, 401);
    const taken = newAgent();
    await ask('POST', '/agents', taken);
    const again = await t.call('POST', '/api/v1/agents', { token: t.bearer, payload: taken });
    assert.equal(again.status, 409);
    await t.drain();
    assert.deepEqual(
      receiver.received
        .map(bodyOf)
        .map(({ type }) => type)
        .sort(),
      ['agent.created', 'token.refused'],
    );
  });

  it('of concurrent tokens in shared transactions: each is delivered once to each subscription', async () => {
    const receivers = [await startReceiver(), await startReceiver()];
    for (const { url } of receivers) await t.subscribe(url, ['token.issued']);
    await Promise.all(Array.from({ length: 60 }, () => t.token('agents:read')));
    await t.drain();
    const delivered = receivers.map(({ received }) =>
      received
        .map(bodyOf)
        .map(({ data }) => data.tokenId)
        .sort(),
    );
    assert.equal(new Set(delivered[0]).size, 60);
    assert.equal(delivered[0]?.length, 60);
    assert.deepEqual(delivered[0], delivered[1]);
  });

  it('with hostile names: the names arrive unchanged, in the bytes that are signed', async () => {
    const receiver = await startReceiver();
    const { signingSecret } = await t.subscribe(receiver.url, ['agent.created']);
    const owners = [
      '"};alert(1)//',
      'Zoë ☕ 𝒳',
      '\\u0000 \\ud800',
      '<script>\u2028\u2029',
      "'; drop table x; --",
    ];
    for (const owner of owners) await ask('POST', '/agents', newAgent({ owner }));
    await t.drain();
    assert.deepEqual(
      receiver.received
        .map(bodyOf)
        .map(({ data }) => data.owner)
        .sort(),
      owners.toSorted(),
    );
    for (const received of receiver.received) requireOurSignature(received, signingSecret);
  });
});

describe('a delivery', () => {
  it('has the headers of the spec and of Standard Webhooks, which that library accepts', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret } = await t.subscribe(receiver.url);
    await t.raiseEvent();
    await t.drain();
    const [received] = receiver.received;
    assert.ok(received);
    const { headers, body, method } = received;
    const [delivery] = await t.deliveries(id);
    assert.equal(method, 'POST');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-service-event'], 'agent.created');
    assert.equal(headers['x-service-delivery-id'], delivery?.id);
    assert.match(headers['x-service-timestamp'] ?? '', /^\d{10}$/);
    assert.ok(Math.abs(Number(headers['x-service-timestamp']) - t.clock.now() / 1000) < 300);
    requireOurSignature(received, signingSecret);
    assert.deepEqual(new Webhook(signingSecret).verify(body, headers), JSON.parse(body));
    assert.throws(() => new Webhook(signingSecret).verify(`${body} `, headers));
    assert.deepEqual(JSON.parse(body), delivery?.payload);
    const { payload: _, id: __, updated_at, delivered_at, attempts, ...rest } = delivery ?? ({} as never);
    assert.equal(delivered_at, updated_at);
    assert.deepEqual(
      {
        status: rest.status,
        code: rest.http_status_code,
        count: rest.attempt_count,
        next: rest.next_retry_at,
      },
      { status: 'delivered', code: 204, count: 1, next: null },
    );
    assert.deepEqual(
      attempts.map(({ http_status_code, error }) => [http_status_code, error]),
      [[204, null]],
    );
  });

  it('202 a test is sent at once, also to an inactive subscription, and listed like other deliveries', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret } = await t.subscribe(receiver.url, ['token.revoked']);
    await ask('PATCH', `/webhooks/${id}`, { active: false });
    const response = await t.call('POST', `${api}/${id}/test`, { token: t.bearer });
    assert.equal(response.status, 202);
    await t.drain();
    const [received] = receiver.received;
    assert.ok(received);
    requireOurSignature(received, signingSecret);
    assert.equal(received.headers['x-service-event'], 'webhook.test');
    const { type, organizationId, data } = bodyOf(received);
    assert.deepEqual([type, organizationId], ['webhook.test', t.operator.organizationId]);
    assert.equal(data.webhookId, id);
    const [delivery] = await t.deliveries(id);
    assert.deepEqual([delivery?.id, delivery?.status], [response.json.id, 'delivered']);
  });

  it('202 a replay sends it again under its id and keeps its attempts; 404 for a delivery of another subscription', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    const other = await t.subscribe(receiver.url, ['token.revoked']);
    await t.raiseEvent();
    await t.drain();
    const [delivery] = await t.deliveries(id);
    const replay = (subscription: string) =>
      t.call('POST', `${api}/${subscription}/deliveries/${delivery?.id}/replay`, { token: t.bearer });
    const foreign = await replay(other.id);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'WEBHOOK_NOT_FOUND']);
    const response = await replay(id);
    assert.equal(response.status, 202);
    assert.deepEqual([response.json.status, response.json.attempt_count], ['pending', 0]);
    await t.drain();
    const ids = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    assert.deepEqual(ids, [delivery?.id, delivery?.id]);
    assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);
    const [after] = await t.deliveries(id);
    assert.deepEqual([after?.status, after?.attempt_count, after?.attempts.length], ['delivered', 1, 2]);
  });
});

describe('a delivery that is being sent', () => {
  it('202 to a replay, which changes nothing: no attempt is lost, nothing is sent twice', async () => {
    const { promise: requested, resolve: arrived } = Promise.withResolvers<void>();
    const { promise: over, resolve: answer } = Promise.withResolvers<void>();
    const receiver = await startReceiver(async (_request, response) => {
      arrived();
      await over;
      response.writeHead(204).end();
    });
    const { id } = await t.subscribe(receiver.url);
    await t.raiseEvent();
    const drained = t.drain();
    await requested;
    const [delivery] = await t.deliveries(id);
    const url = `${api}/${id}/deliveries/${delivery?.id}/replay`;
    for (let time = 0; time < 4; time += 1)
      assert.equal((await t.call('POST', url, { token: t.bearer })).status, 202);
    answer();
    await drained;
    assert.equal(receiver.received.length, 1);
    const [after] = await t.deliveries(id);
    assert.deepEqual([after?.status, after?.attempt_count, after?.attempts.length], ['delivered', 1, 1]);
  });
  it('is counted as usage of its agent when the endpoint accepts it', async () => {
    const quantity = async () => {
      const answer = await t.call('GET', '/api/v1/usage?metric=webhook_deliveries', { token: t.bearer });
      return answer.json.totals.webhook_deliveries as number;
    };
    const before = await quantity();
    const receiver = await startReceiver();
    await t.subscribe(receiver.url);
    await t.raiseEvent();
    await t.drain();
    assert.ok((await quantity()) > before);
    assert.equal(receiver.received.length, 1);
  });
});

describe('attempts', () => {
  it('are limited to the last 50, however often a delivery is replayed', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    await t.raiseEvent();
    await t.drain();
    const [delivery] = await t.deliveries(id);
    assert.ok(delivery);
    const numbered = Array.from({ length: 49 }, (_, index) => ({
      ...delivery.attempts[0],
      duration_ms: 1_000_000 + index,
    }));
    await t.sql('update webhook_deliveries set attempts = $2 where delivery_id = $1', [
      delivery.id,
      JSON.stringify(numbered),
    ]);
    const replay = async () => {
      await ask('POST', `/webhooks/${id}/deliveries/${delivery.id}/replay`);
      await t.drain();
      return (await t.deliveries(id))[0]?.attempts ?? [];
    };
    const full = await replay();
    assert.deepEqual([full.length, full[0]?.duration_ms], [50, 1_000_000]);
    const next = await replay();
    assert.deepEqual([next.length, next[0]?.duration_ms], [50, 1_000_001]);
    assert.ok((next.at(-1)?.duration_ms ?? Number.NaN) < 1_000_000, 'the last one is the newest');
  });
});

describe('an inactive subscription', () => {
  it('gets no new deliveries; pending ones wait and are sent when it is active again', async () => {
    const receiver = await startReceiver();
    const { id } = await t.subscribe(receiver.url);
    await t.raiseEvent();
    await ask('PATCH', `/webhooks/${id}`, { active: false });
    await t.raiseEvent();
    await t.drain();
    assert.equal(receiver.connections(), 0);
    assert.deepEqual(
      (await t.deliveries(id)).map(({ status }) => status),
      ['pending'],
    );
    await ask('PATCH', `/webhooks/${id}`, { active: true });
    await t.drain();
    assert.equal(receiver.received.length, 1);
  });
});

describe('a suspended organization', () => {
  it('is sent nothing until it is active again', async () => {
    const receiver = await startReceiver();
    const slug = `halted-${randomUUID()}`;
    const { organizationId } = await ask('POST', '/organizations', { name: 'Halted', slug });
    const { token, agentId } = await agentIn(organizationId, ['webhooks:write']);
    const payload = { name: 'Theirs', url: receiver.url, events: ['agent.updated'] };
    assert.equal((await t.call('POST', api, { token, payload })).status, 201);
    await ask('PATCH', `/agents/${agentId}`, { owner: 'before' });
    await ask('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
    await ask('PATCH', `/agents/${agentId}`, { owner: 'while suspended' });
    await t.drain();
    assert.equal(receiver.connections(), 0);
    await ask('PATCH', `/organizations/${organizationId}`, { status: 'active' });
    await t.drain();
    assert.deepEqual(
      receiver.received
        .map(bodyOf)
        .map(({ data }) => data.owner)
        .sort(),
      ['before', 'while suspended'],
    );
    await ask('DELETE', `/organizations/${organizationId}`);
    await ask('PATCH', `/agents/${agentId}`, { owner: 'after' });
    await t.drain();
    assert.equal(receiver.received.length, 2);
  });
});

describe('the purge', () => {
  it('deletes completed deliveries after 30 days, and those without a subscription', async () => {
    const receiver = await startReceiver();
    const [remaining, deleted] = [
      await t.subscribe(receiver.url),
      await t.subscribe(receiver.url, ['token.revoked']),
    ];
    await t.raiseEvent();
    await t.drain();
    t.clock.advance(20 * 86_400_000);
    // Creates the audit log's partition of that day.
    await t.app.prepare();
    await t.raiseEvent();
    await t.insertDeliveries(deleted.id, 2_500);
    await t.insertDeliveries(remaining.id, 1);
    await t.sql('delete from webhook_subscriptions where subscription_id = $1', [deleted.id]);
    t.clock.advance(11 * 86_400_000);
    await t.app.deliveries.purge();
    const left = await t.sql<{ id: string; n: number }>(
      'select subscription_id as id, count(*)::int as n from webhook_deliveries where subscription_id = any($1) group by 1',
      [[remaining.id, deleted.id]],
    );
    assert.deepEqual(left, [{ id: remaining.id, n: 2 }]);
    t.clock.advance(31 * 86_400_000);
    await t.app.deliveries.purge();
    assert.equal(
      (await t.sql('select 1 from webhook_deliveries where subscription_id = $1', [remaining.id])).length,
      2,
    );
  });
});
