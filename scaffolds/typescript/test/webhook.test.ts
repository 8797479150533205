import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { verifyWebhook, WebhookError } from '../src/countersign/sdk.ts';

const secret = 'whsec_test';
const now = 1_700_000_000_000;
const body = '{"id":"e1","type":"agent.created"}';
const headers = {
  'x-service-timestamp': '1700000000',
  'x-service-signature-256': `sha256=${createHmac('sha256', secret).update(`1700000000.${body}`).digest('hex')}`,
};

test('a genuine delivery passes, up to five minutes later', async () => {
  for (const later of [0, 300_000]) {
    const { type } = await verifyWebhook(body, headers, secret, { now: now + later });
    assert.equal(type, 'agent.created');
  }
});

const refused = {
  'another body': () => verifyWebhook(`${body} `, headers, secret, { now }),
  'another secret': () => verifyWebhook(body, headers, 'other', { now }),
  'an old delivery': () => verifyWebhook(body, headers, secret, { now: now + 301_000 }),
  'another time': () =>
    verifyWebhook(body, { ...headers, 'x-service-timestamp': '1700000001' }, secret, { now }),
  'no signature': () =>
    verifyWebhook(body, { ...headers, 'x-service-signature-256': '' }, secret, { now }),
};
for (const [what, verify] of Object.entries(refused)) {
  test(`refused: ${what}`, () => assert.rejects(verify, WebhookError));
}
