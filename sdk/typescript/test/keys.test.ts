/** The keys of the issuer: rotation, outages, and the cool-down between requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { environment, startApp } from '../../../test/support/harness.ts';
import { createVerifier } from '../src/sdk.ts';
import { refusedWith, startOrders } from './orders.ts';

const { t, issuer, organizationId, register, clientOf, buyerOf } = await startOrders();
const audience = 'https://orders.example.com';
const resourceId = await register(audience);
const base = { issuer, audience, organizationId, subjects: 'agents', revocation: 'none' } as const;
const buyer = await buyerOf(resourceId);
const token = await clientOf(buyer).token({ resource: audience });

const next = generateKeyPair('p-256');
const other = { JWT_PRIVATE_KEY: next.privatePem, JWT_PUBLIC_KEY: next.publicPem };
const rotated = await startApp(
  { BASE_URL: issuer, ...other, JWT_PREVIOUS_PUBLIC_KEYS: environment('').JWT_PUBLIC_KEY },
  t,
);
const newToken = async () =>
  (
    await rotated.askToken({
      grant_type: 'client_credentials',
      client_id: buyer.clientId,
      client_secret: buyer.clientSecret,
      resource: audience,
    })
  ).json.access_token as string;

describe('keys', () => {
  /** The published keys come from this node; an outage is a rejected fetch. */
  const withKeysOf = () => {
    const state = { node: t as typeof t | typeof rotated, isDown: false, fetched: 0, now: Date.now() };
    const fetch = async () => {
      state.fetched += 1;
      if (state.isDown) throw new TypeError('fetch failed');
      await new Promise((resolve) => setTimeout(resolve, 5));
      return new Response((await state.node.call('GET', '/.well-known/jwks.json')).text);
    };
    const verify = createVerifier({ ...base, platform: { fetch, now: () => state.now } }).verify;
    return { state, verify };
  };

  it('are fetched once for concurrent tokens', async () => {
    const { state, verify } = withKeysOf();
    await Promise.all(Array.from({ length: 20 }, () => verify(token)));
    assert.equal(state.fetched, 1);
  });

  it('a token of a new key is accepted after a rotation, also by concurrent calls', async () => {
    const { state, verify } = withKeysOf();
    await verify(token);
    state.node = rotated;
    state.now += 31_000;
    const rotatedToken = await newToken();
    await Promise.all(Array.from({ length: 20 }, () => verify(rotatedToken)));
    await verify(token);
    assert.equal(state.fetched, 2);
  });

  it('an unknown key causes a request at most every 30 seconds, whether it succeeds or not', async () => {
    const { state, verify } = withKeysOf();
    const unknown = await newToken();
    await verify(token);
    for (let count = 0; count < 5; count += 1)
      await assert.rejects(verify(unknown), refusedWith(401, 'invalid_token'));
    assert.equal(state.fetched, 1);
    state.now += 30_000;
    for (let count = 0; count < 5; count += 1)
      await assert.rejects(verify(unknown), refusedWith(401, 'invalid_token'));
    assert.equal(state.fetched, 2);
    state.now += 30_000;
    state.isDown = true;
    for (let count = 0; count < 5; count += 1)
      await assert.rejects(verify(unknown), refusedWith(503, 'temporarily_unavailable'));
    assert.equal(state.fetched, 3);
  });

  it('an outage: known keys work on for a day, and are fetched again when the server is back', async () => {
    const { state, verify } = withKeysOf();
    const { exp = 0 } = (await verify(token)).claims;
    state.isDown = true;
    state.now = Math.min(state.now + 11 * 60_000, exp * 1000);
    await verify(token);
    await verify(token);
    assert.equal(state.fetched, 2);
    state.isDown = false;
    state.now += 30_000;
    await verify(token).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(state.fetched, 3);
    state.isDown = true;
    state.now += 24 * 3_600_000;
    await assert.rejects(verify(token), refusedWith(503, 'temporarily_unavailable'));
  });

  it('503 temporarily_unavailable while no keys could be fetched yet, then 200', async () => {
    const { state, verify } = withKeysOf();
    state.isDown = true;
    await assert.rejects(verify(token), refusedWith(503, 'temporarily_unavailable'));
    state.isDown = false;
    state.now += 30_000;
    await verify(token);
  });

  it('without usable keys, they are requested every 30 seconds at most', async () => {
    const { state, verify } = withKeysOf();
    const refuseFive = async () => {
      for (let count = 0; count < 5; count += 1)
        await assert.rejects(verify(token), refusedWith(503, 'temporarily_unavailable'));
    };
    state.isDown = true;
    await refuseFive();
    assert.equal(state.fetched, 1, 'no keys yet');
    state.isDown = false;
    state.now += 30_000;
    await Promise.all([verify(token), verify(token)]);
    assert.equal(state.fetched, 2);
    state.isDown = true;
    state.now += 24 * 3_600_000;
    await refuseFive();
    assert.equal(state.fetched, 3, 'keys that are too old');
  });

  it('503: too many keys, or an answer that does not end', async () => {
    const published: { keys: object[] } = JSON.parse((await t.call('GET', '/.well-known/jwks.json')).text);
    const answerWith = (count: number, note = '') => {
      const others = Array.from({ length: count - published.keys.length }, (_, at) => ({
        ...published.keys[0],
        kid: `${at}`,
      }));
      return JSON.stringify({ keys: [...others, ...published.keys], note });
    };
    const verifyWith = (body: () => string | ReadableStream<Uint8Array>) =>
      createVerifier({ ...base, platform: { fetch: async () => new Response(body()) } }).verify(token);
    await verifyWith(() => answerWith(100));
    let sent = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 1024;
          if (sent > 8 * 1024 * 1024) controller.error(new Error('read on'));
          else controller.enqueue(new TextEncoder().encode(' '.repeat(1024)));
        },
      });
    for (const body of [() => answerWith(101), () => answerWith(1, 'x'.repeat(256 * 1024)), endless])
      await assert.rejects(verifyWith(body), refusedWith(503, 'temporarily_unavailable'));
    assert.ok(sent < 512 * 1024, `${sent} bytes were read`);
  });

  it('503: another server answers, or redirects', async () => {
    for (const response of [
      () => new Response('<html>', { status: 200 }),
      () => new Response('{}', { status: 200 }),
      () => new Response('{"keys":1}', { status: 200 }),
      () => new Response(null, { status: 302, headers: { location: 'https://elsewhere.example' } }),
      () => new Response('busy', { status: 503 }),
    ]) {
      const platform = { fetch: async () => response() };
      await assert.rejects(
        createVerifier({ ...base, platform }).verify(token),
        refusedWith(503, 'temporarily_unavailable'),
      );
    }
  });
});
