import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyWebhook } from '../src/webhook.ts';

const secret = 'whsec_test';
const now = 1_700_000_000_000;
const good = {
  timestamp: '1700000000',
  signature: 'sha256=17203041e9406bee38c6096bf0228f37fe82578204ab2c3cc965d2babad6ee5e',
  body: Buffer.from('{"type":"agent.created"}'),
};

test('a genuine delivery passes, up to five minutes later', () => {
  verifyWebhook(secret, good, now);
  verifyWebhook(secret, good, now + 300_000);
});

const refused = {
  'another body': { ...good, body: Buffer.from('{"type":"agent.updated"}') },
  'another time': { ...good, timestamp: '1700000001' },
  'no number as time': { ...good, timestamp: '17e8' },
  'a signature cut short': { ...good, signature: good.signature.slice(0, -2) },
  'no signature': { ...good, signature: '' },
  'another algorithm': { ...good, signature: good.signature.replace('sha256', 'sha1') },
};
for (const [what, delivery] of Object.entries(refused)) {
  test(`refused: ${what}`, () => assert.throws(() => verifyWebhook(secret, delivery, now)));
}

test('refused: another secret', () => assert.throws(() => verifyWebhook('other', good, now)));
test('refused: an old delivery', () =>
  assert.throws(() => verifyWebhook(secret, good, now + 301_000), /five minutes/));
