/** A stored response belongs to the proof it was asked with: a credential, a key, a trust policy or a session. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import type { Answer } from '../../../test/support/harness.ts';
import {
  consoleOrigin,
  createConsoleClient,
  startConsoleApp,
} from '../../../test/support/scenarios/console.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';

const t = await startConsoleApp({
  DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const { operator, createPolicy, exchange } = await createTrustClient(t);
const { call, cookieOf } = createConsoleClient(t);
const allowedScopes = ['agents:read', 'agents:write'];
const agent = await t.agent({ allowedScopes });
const target = await t.agent({ allowedScopes });
const url = `/agents/${target.agentId}/credentials`;

/** Each asks with a proof of its own of the same agent, and with a new token each time. */
type Ask = (key: string) => Promise<Answer>;

const byToken =
  (getToken: () => Promise<string>): Ask =>
  async (key) =>
    t.call('POST', `/api/v1${url}`, {
      token: await getToken(),
      payload: {},
      headers: { 'idempotency-key': key },
    });

async function bySecret(): Promise<Ask> {
  const path = `/api/v1/agents/${agent.agentId}/credentials`;
  const { json } = await t.call('POST', path, { token: operator });
  return byToken(() => t.token(undefined, json));
}

const keys = Object.fromEntries(['first', 'second'].map((kid) => [kid, generateKeyPairSync('ed25519')]));
const registered = await t.call('PUT', `/api/v1/agents/${agent.agentId}/keys`, {
  token: operator,
  payload: {
    keys: await Promise.all(
      Object.entries(keys).map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid })),
    ),
  },
});
assert.equal(registered.status, 200, registered.text);

const byKey = (kid: string): Ask =>
  byToken(async () => {
    const client_assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'EdDSA', kid })
      .setIssuer(agent.agentId)
      .setSubject(agent.agentId)
      .setAudience(consoleOrigin)
      .setIssuedAt(Math.floor(t.clock.now() / 1000))
      .setExpirationTime(Math.floor(t.clock.now() / 1000) + 60)
      .sign(keys[kid]?.privateKey as KeyObject);
    const { json, text } = await t.askToken({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    });
    assert.ok(json.access_token, text);
    return json.access_token;
  });

async function byPolicy(): Promise<Ask> {
  const policy = await createPolicy({ agentId: agent.agentId, scopes: allowedScopes });
  return byToken(async () => (await exchange(await policy.sign())).json.access_token);
}

async function bySession(): Promise<Ask> {
  const cookie = await cookieOf(agent);
  return (key) => call(cookie, 'POST', url, {}, { 'idempotency-key': key });
}

describe('Idempotency-Key by several proofs of one agent', () => {
  it('201 and a new credential for each proof; the first response again for the same proof only', async () => {
    const proofs: Record<string, Ask> = {
      'a secret': await bySecret(),
      'another secret': await bySecret(),
      'a key': byKey('first'),
      'another key': byKey('second'),
      'a trust policy': await byPolicy(),
      'another trust policy': await byPolicy(),
      'a session': await bySession(),
      'another session': await bySession(),
    };
    const key = randomUUID();
    const first = new Map<string, Answer>();
    for (const [proof, ask] of Object.entries(proofs)) {
      const answer = await ask(key);
      assert.equal(answer.status, 201, `${proof}: ${answer.text}`);
      assert.equal(answer.headers['idempotency-replayed'], undefined, proof);
      first.set(proof, answer);
    }
    assert.equal(new Set([...first.values()].map(({ json }) => json.clientSecret)).size, first.size);
    for (const [proof, ask] of Object.entries(proofs)) {
      const again = await ask(key);
      assert.equal(again.headers['idempotency-replayed'], 'true', proof);
      assert.deepEqual(again.json, first.get(proof)?.json, proof);
    }
  });
});
