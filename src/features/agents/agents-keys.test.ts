import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const token = await t.token();

const rsa = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits });
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const good = {
  rsa: await exportJWK(rsa(2048).publicKey),
  p256: await exportJWK(ec('P-256').publicKey),
  p384: await exportJWK(ec('P-384').publicKey),
  ed25519: await exportJWK(generateKeyPairSync('ed25519').publicKey),
};

const bad: [string, unknown][] = [
  ['a private key', await exportJWK(ec('P-256').privateKey)],
  ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }],
  ['RSA of 1024 bits', await exportJWK(rsa(1024).publicKey)],
  ['another curve', await exportJWK(ec('P-521').publicKey)],
  ['secp256k1', await exportJWK(ec('secp256k1').publicKey)],
  ['an EC key named as Ed25519', { ...good.p256, crv: 'Ed25519' }],
  ['an EC key without y', { kty: 'EC', crv: 'P-256', x: good.p256.x }],
  ['a point off the curve', { ...good.p256, y: good.p256.x }],
  ['RSA without e', { kty: 'RSA', n: good.rsa.n }],
  ['no kind', { n: good.rsa.n, e: good.rsa.e }],
  ['an unknown member', { ...good.rsa, x5u: 'https://example.com' }],
  ['an algorithm of another kind', { ...good.rsa, alg: 'HS256' }],
  ['no algorithm', { ...good.p256, alg: 'none' }],
  ['members of another kind of key', { ...good.rsa, crv: 'P-256' }],
  ['an RSA exponent of 1', { ...good.rsa, e: 'AQ' }],
  ['an even RSA modulus', { ...good.rsa, n: `${good.rsa.n?.slice(0, -1)}A` }],
  [
    'an Ed25519 point of small order',
    { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32).toString('base64url') },
  ],
  ['padding', { ...good.ed25519, x: `${good.ed25519.x}=` }],
  ['junk behind the base64url', { ...good.ed25519, x: `${good.ed25519.x}!!!!` }],
  ['a kid with a line break', { ...good.rsa, kid: 'a\nb' }],
  ['not an object', 'key'],
];

const create = async () =>
  (await t.call('POST', '/api/v1/agents', { token, payload: newAgent() })).json.agentId as string;
const put = (agentId: string, keys: unknown) =>
  t.call('PUT', `/api/v1/agents/${agentId}/keys`, { token, payload: { keys } });
const get = async (agentId: string) =>
  (await t.call('GET', `/api/v1/agents/${agentId}/keys`, { token })).json;

describe('PUT and GET /agents/{agentId}/keys', () => {
  it('200 stores a set of every key type, with thumbprints as missing kids, and replaces the previous set', async () => {
    const agentId = await create();
    assert.deepEqual(await get(agentId), { keys: [] });
    const keys = [good.rsa, { ...good.p256, kid: 'mine', use: 'sig', alg: 'ES256' }, good.p384, good.ed25519];
    const { status, json } = await put(agentId, keys);
    assert.equal(status, 200);
    assert.deepEqual(json.keys[0], { ...good.rsa, kid: await calculateJwkThumbprint(good.rsa) });
    assert.deepEqual(json.keys[1], keys[1]);
    assert.deepEqual(await get(agentId), json);
    await put(agentId, [good.ed25519]);
    assert.equal((await get(agentId)).keys.length, 1);
    assert.deepEqual((await put(agentId, [])).json, { keys: [] });
    const rows = await t.sql("select 1 from audit_events where agent_id = $1 and action = 'agent.updated'", [
      agentId,
    ]);
    assert.equal(rows.length, 3);
  });
  it('200 for a key as WebCrypto exports it; ext is not stored', async () => {
    const made = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    const exported = await crypto.subtle.exportKey('jwk', 'publicKey' in made ? made.publicKey : made);
    assert.equal(exported.ext, true);
    const { status, json } = await put(await create(), [exported]);
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json.keys[0].x, exported.x);
    assert.equal('ext' in json.keys[0], false);
  });
  for (const [what, key] of bad) {
    it(`400 VALIDATION_ERROR naming the key, for ${what}; nothing changes`, async () => {
      const agentId = await create();
      await put(agentId, [good.p384]);
      const { status, json } = await put(agentId, [good.rsa, key]);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
      assert.match(json.details.fields[0].field, /^keys\[1\]/);
      assert.equal((await get(agentId)).keys.length, 1);
    });
  }
  it('400 VALIDATION_ERROR for two keys with one kid, more than ten keys, and no set', async () => {
    const agentId = await create();
    assert.equal((await put(agentId, [good.rsa, good.rsa])).status, 400);
    assert.equal(
      (
        await put(
          agentId,
          Array.from({ length: 11 }, (_, i) => ({ ...good.rsa, kid: `k${i}` })),
        )
      ).status,
      400,
    );
    assert.equal((await put(agentId, undefined)).status, 400);
  });
  it('403 AGENT_DECOMMISSIONED for a decommissioned agent', async () => {
    const agentId = await create();
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token });
    assert.deepEqual(
      [(await put(agentId, [])).status, (await put(agentId, [])).json.code],
      [403, 'AGENT_DECOMMISSIONED'],
    );
  });
});
