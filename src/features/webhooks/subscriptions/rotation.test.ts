/** POST /webhooks/{id}/rotate-secret, and which secrets sign deliveries during and after the overlap. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { type Received, type Receiver, startReceiver } from '../../../../test/support/peers/receivers.ts';
import { api, startWebhookApp, type WebhookApp } from '../../../../test/support/scenarios/webhooks.ts';
import { secretPrefix, signedHeaders } from '../../../kernel/delivery/signature.ts';

const hour = 3_600_000;
const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const t = await startWebhookApp({ DATA_ENCRYPTION_KEY: key(7) });

const rotate = async (id: string, payload?: object, app: WebhookApp = t) =>
  app.call('POST', `${api}/${id}/rotate-secret`, { token: await app.token(), ...(payload && { payload }) });
const rotated = async (id: string, payload?: object, app: WebhookApp = t) => {
  const answer = await rotate(id, payload, app);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const read = async (id: string, app: WebhookApp = t) =>
  (await app.call('GET', `${api}/${id}`, { token: await app.token() })).json;

/** As a receiver that uses the Standard Webhooks library, at the time of the delivery. */
function isStandard({ headers, body }: Pick<Received, 'headers' | 'body'>, secret: string): boolean {
  const time = mock.method(Date, 'now', () => Number(headers['webhook-timestamp']) * 1000);
  try {
    new Webhook(secret).verify(body, { ...headers });
    return true;
  } catch {
    return false;
  } finally {
    time.mock.restore();
  }
}

/** As a receiver written from the guide: either header of ours. */
function isOurs({ headers, body }: Pick<Received, 'headers' | 'body'>, secret: string): boolean {
  const hmac = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`).digest('hex');
  const names = ['x-service-signature-256', 'x-service-signature-256-previous'];
  return names.some((name) => headers[name] === `sha256=${hmac}`);
}

async function nextDelivery(receiver: Receiver, id: string, app: WebhookApp = t): Promise<Received> {
  const before = receiver.received.length;
  const answer = await app.call('POST', `${api}/${id}/test`, { token: await app.token() });
  assert.equal(answer.status, 202);
  await app.drain();
  const received = receiver.received[before];
  assert.ok(received);
  return received;
}

/** Of these secrets, those that sign; both forms of signature must agree. */
const accepted = (received: Received, secrets: readonly string[]): string[] => {
  const standard = secrets.filter((secret) => isStandard(received, secret));
  assert.deepEqual(
    secrets.filter((secret) => isOurs(received, secret)),
    standard,
  );
  return standard;
};

const storedSecrets = async (id: string, app: WebhookApp = t) => {
  const [row] = await app.sql<{ current: string; previous: string | null; ends: Date | null }>(
    `select signing_secret as current, previous_signing_secret as previous, previous_secret_expires_at as ends
     from webhook_subscriptions where subscription_id = $1`,
    [id],
  );
  assert.ok(row);
  return row;
};

describe('POST /webhooks/{id}/rotate-secret', () => {
  it('200 with a new secret, shown once; both sign for 24 hours, then the new one alone', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret: old } = await t.subscribe(receiver.url);
    const answer = await rotate(id);
    assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store']);
    const { signingSecret, previous_secret_expires_at: end, updated_at } = answer.json;
    assert.notEqual(signingSecret, old);
    assert.equal(Date.parse(end) - Date.parse(updated_at), 24 * hour);
    const shown = await read(id);
    assert.deepEqual([shown.previous_secret_expires_at, shown.signingSecret], [end, undefined]);

    const during = await nextDelivery(receiver, id);
    assert.deepEqual(accepted(during, [old, signingSecret]), [old, signingSecret]);
    const { headers, body } = during;
    const hmac = createHmac('sha256', signingSecret).update(`${headers['x-service-timestamp']}.${body}`);
    assert.equal(headers['x-service-signature-256'], `sha256=${hmac.digest('hex')}`, 'a single value');
    assert.match(headers['webhook-signature'] ?? '', /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);

    t.clock.advance(24 * hour - 60_000);
    assert.deepEqual(accepted(await nextDelivery(receiver, id), [old, signingSecret]), [old, signingSecret]);
    t.clock.advance(60_001);
    const after = await nextDelivery(receiver, id);
    assert.deepEqual(accepted(after, [old, signingSecret]), [signingSecret]);
    assert.equal(after.headers['x-service-signature-256-previous'], undefined);
    assert.match(after.headers['webhook-signature'] ?? '', /^v1,\S+$/);
    // The loop that erases it has not run yet.
    assert.notEqual((await storedSecrets(id)).previous, null);
    assert.equal((await read(id)).previous_secret_expires_at, null);
    const list = (await t.call('GET', api, { token: await t.token() })).json;
    assert.ok(list.every((one: { previous_secret_expires_at: unknown }) => !one.previous_secret_expires_at));
    const unchanged = await t.call('PATCH', `${api}/${id}`, { token: await t.token(), payload: {} });
    assert.equal(unchanged.json.previous_secret_expires_at, null);
    await t.app.deliveries.purge();
    const { previous, ends } = await storedSecrets(id);
    assert.deepEqual([previous, ends], [null, null]);
  });

  it('200 keeps the replaced secret encrypted, also one that was stored unencrypted', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret: old } = await t.subscribe(receiver.url);
    await t.sql('update webhook_subscriptions set signing_secret = $2 where subscription_id = $1', [id, old]);
    const { signingSecret } = await rotated(id);
    const { current, previous } = await storedSecrets(id);
    for (const sealed of [current, previous]) assert.match(sealed ?? '', /^sealed:1:/);
    assert.deepEqual(accepted(await nextDelivery(receiver, id), [old, signingSecret]), [old, signingSecret]);
    await t.app.deliveries.purge();
    assert.notEqual((await storedSecrets(id)).previous, null, 'erased only when its time is over');
  });

  it('200 a second rotation within the overlap keeps only the secret that it replaced', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret: first } = await t.subscribe(receiver.url);
    const { signingSecret: second } = await rotated(id);
    t.clock.advance(hour);
    const { signingSecret: third, previous_secret_expires_at, updated_at } = await rotated(id);
    assert.equal(Date.parse(previous_secret_expires_at) - Date.parse(updated_at), 24 * hour);
    assert.deepEqual(accepted(await nextDelivery(receiver, id), [first, second, third]), [second, third]);
  });

  it('200 with overlapSeconds 0 ends all earlier secrets at once', async () => {
    const receiver = await startReceiver();
    const { id, signingSecret: first } = await t.subscribe(receiver.url);
    const { signingSecret: second } = await rotated(id);
    const answer = await rotated(id, { overlapSeconds: 0 });
    assert.equal(answer.previous_secret_expires_at, null);
    const received = await nextDelivery(receiver, id);
    assert.deepEqual(accepted(received, [first, second, answer.signingSecret]), [answer.signingSecret]);
    assert.equal((await storedSecrets(id)).previous, null);
  });

  it('200 records the end of the overlap, and no secret', async () => {
    const { id, signingSecret: old } = await t.subscribe('https://receiver.example/');
    const { signingSecret, previous_secret_expires_at } = await rotated(id, { overlapSeconds: 604_800 });
    const rows = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'webhook.secret_rotated' and metadata ->> 'webhookId' = $1",
      [id],
    );
    assert.equal(rows.length, 1);
    assert.equal(rows[0]?.metadata.previousSecretExpiresAt, previous_secret_expires_at);
    for (const secret of [old, signingSecret]) assert.ok(!JSON.stringify(rows).includes(secret));
  });

  const bad: [string, unknown][] = [
    ['a negative overlap', { overlapSeconds: -1 }],
    ['an overlap above a week', { overlapSeconds: 604_801 }],
    ['a fraction', { overlapSeconds: 1.5 }],
    ['a text', { overlapSeconds: '60' }],
    ['null', { overlapSeconds: null }],
    ['an unknown field', { overlap: 60 }],
    ['a secret of the caller', { signingSecret: 'whsec_x' }],
    ['an array', []],
  ];
  for (const [what, payload] of bad)
    it(`400 VALIDATION_ERROR for ${what}; nothing is changed`, async () => {
      const { id } = await t.subscribe('https://receiver.example/');
      const before = await storedSecrets(id);
      const { status, json } = await rotate(id, payload as object);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
      assert.deepEqual(await storedSecrets(id), before);
    });
});

describe('WEBHOOK_SECRET_OVERLAP_SECONDS', () => {
  it('0: a rotation ends the replaced secret at once, unless it asks for an overlap', async () => {
    const app = await startWebhookApp({ WEBHOOK_SECRET_OVERLAP_SECONDS: '0' });
    const receiver = await startReceiver();
    const { id, signingSecret: first } = await app.subscribe(receiver.url);
    const { signingSecret: second, previous_secret_expires_at } = await rotated(id, undefined, app);
    assert.equal(previous_secret_expires_at, null);
    assert.deepEqual(accepted(await nextDelivery(receiver, id, app), [first, second]), [second]);
    const { signingSecret: third } = await rotated(id, { overlapSeconds: 60 }, app);
    assert.deepEqual(accepted(await nextDelivery(receiver, id, app), [second, third]), [second, third]);
  });
});

describe('DATA_ENCRYPTION_KEY changed', () => {
  it('200 a rotation repairs the subscription; an unreadable previous secret does not stop deliveries', async () => {
    const receiver = await startReceiver();
    const app = await startWebhookApp({ DATA_ENCRYPTION_KEY: key(1) });
    const { id, signingSecret: first } = await app.subscribe(receiver.url);
    const { current: foreign } = await storedSecrets(id, app);
    // Sealed with a key that this instance does not have.
    const lost = foreign.replace(/^sealed:1:[0-9a-f]+/, `sealed:1:${'0'.repeat(16)}`);
    await app.sql('update webhook_subscriptions set signing_secret = $2 where subscription_id = $1', [
      id,
      lost,
    ]);
    const { signingSecret, previous_secret_expires_at } = await rotated(id, undefined, app);
    assert.equal(previous_secret_expires_at, null, 'it cannot sign');
    assert.deepEqual(accepted(await nextDelivery(receiver, id, app), [first, signingSecret]), [
      signingSecret,
    ]);
    await rotated(id, undefined, app);
    await app.sql(
      'update webhook_subscriptions set previous_signing_secret = $2 where subscription_id = $1',
      [id, lost],
    );
    const received = await nextDelivery(receiver, id, app);
    assert.match(received.headers['webhook-signature'] ?? '', /^v1,\S+$/);
  });
});

describe('signatures', () => {
  const secret = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => secretPrefix + Buffer.from(bytes).toString('base64'));

  it('of any body verify with the current and the previous secret, and with no other', () => {
    const property = fc.property(
      fc.uniqueArray(secret, { minLength: 3, maxLength: 3 }),
      fc.boolean(),
      fc.json(),
      ([current = '', previous = '', other = ''], overlap, body) => {
        const delivery = { deliveryId: 'a', eventType: 'b', payload: body, timestamp: 1_900_000_000 };
        const signed = signedHeaders(delivery, { current, previous: overlap ? previous : undefined });
        const headers = Object.fromEntries(
          Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]),
        );
        for (const verifies of [isStandard, isOurs])
          assert.deepEqual(
            [current, previous, other].map((one) => verifies({ headers, body }, one)),
            [true, overlap, false],
          );
      },
    );
    fc.assert(property);
  });

  it('after any sequence of rotations are those of the current secret and of the last one in its overlap', async () => {
    const step = fc.record({
      overlapSeconds: fc.constantFrom(0, 60, 3_600, 86_400, 604_800),
      passedSeconds: fc.constantFrom(0, 30, 120, 7_200, 90_000),
    });
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      const receiver = await startReceiver();
      const { id, signingSecret } = await t.subscribe(receiver.url);
      const secrets = [signingSecret];
      for (const { overlapSeconds, passedSeconds } of steps) {
        secrets.push((await rotated(id, { overlapSeconds })).signingSecret);
        t.clock.advance(passedSeconds * 1000);
        const expected = overlapSeconds > passedSeconds ? secrets.slice(-2) : secrets.slice(-1);
        assert.deepEqual(accepted(await nextDelivery(receiver, id), secrets), expected);
      }
      await t.call('DELETE', `${api}/${id}`, { token: await t.token() });
      await receiver.close();
    });
    await fc.assert(property, { numRuns: 8 });
  });
});
