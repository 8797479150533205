/** verifyWebhook with deliveries of a real server, and mistakes of the receiver. The vectors have the other cases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Received, startReceiver } from '../../../test/support/peers/receivers.ts';
import { startWebhookApp } from '../../../test/support/scenarios/webhooks.ts';
import { verifyWebhook, WebhookError } from '../src/sdk.ts';

const t = await startWebhookApp();
const receiver = await startReceiver();
const now = () => ({ now: t.clock.now() });

describe('a delivery of the server', () => {
  it('is genuine, and its event has the id of the delivery; after a rotation either secret works', async () => {
    const { id, signingSecret } = await t.subscribe(receiver.url, ['agent.created']);
    const { agentId } = await t.agent();
    const first = await delivered(1);
    const event = await verifyWebhook(first.body, first.headers, signingSecret, now());
    assert.deepEqual([event.type, event.data.agentId], ['agent.created', agentId]);
    assert.equal(event.id, JSON.parse(first.body).id);

    const rotated = await t.call('POST', `/api/v1/webhooks/${id}/rotate-secret`, { token: t.bearer });
    const newSecret = rotated.json.signingSecret;
    await t.agent();
    const second = await delivered(2);
    for (const secrets of [signingSecret, newSecret, [signingSecret, newSecret]])
      assert.equal((await verifyWebhook(second.body, second.headers, secrets, now())).type, 'agent.created');
    await assert.rejects(
      verifyWebhook(second.body.replace('agent.created', 'agent.updated'), second.headers, newSecret, now()),
      (error) => error instanceof WebhookError && error.code === 'invalid_signature',
    );
  });

  const delivered = async (count: number): Promise<Received> => {
    await t.drain();
    return receiver.received[count - 1] as Received;
  };
});

describe('mistakes of the receiver', () => {
  it('TypeError: no secret, or an empty one, with which every caller could sign', async () => {
    for (const secrets of ['', [], [''], ['whsec_x', ''], undefined as unknown as string])
      await assert.rejects(verifyWebhook('{}', {}, secrets), TypeError);
  });

  it('TypeError: a parsed body', async () => {
    for (const body of [{}, [], null, undefined, 1])
      await assert.rejects(verifyWebhook(body as unknown as string, {}, 'whsec_x'), TypeError);
  });

  it('TypeError: a tolerance or time that accepts every delivery', async () => {
    const headers = { 'x-service-timestamp': '1', 'x-service-signature-256': 'x' };
    for (const toleranceSeconds of [Number.NaN, Number.POSITIVE_INFINITY, -1, 86_401, '300' as never])
      await assert.rejects(verifyWebhook('{}', headers, 'whsec_x', { toleranceSeconds }), TypeError);
    for (const time of [Number.NaN, Number.NEGATIVE_INFINITY, new Date(1000) as never])
      await assert.rejects(verifyWebhook('{}', headers, 'whsec_x', { now: time }), TypeError);
  });

  it('the clock is that of the machine unless a test gives another', async () => {
    await assert.rejects(
      verifyWebhook('{}', { 'x-service-timestamp': '1', 'x-service-signature-256': 'x' }, 'whsec_x'),
      (error) => error instanceof WebhookError && error.code === 'timestamp_out_of_tolerance',
    );
  });
});
