import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { type JWK, SignJWT } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { type Issuer, makeKey, startIssuer, startOidcProvider } from '../../../test/support/peers/issuers.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const token = await t.token();
const callerToken = await t.token(undefined, await t.agent({ allowedScopes: [] }));
const url = '/api/v1/federation';

const trust = async (issuer: string, jwksUri: string): Promise<string> => {
  const payload = { name: 'Partner', issuer, jwksUri };
  const { status, json } = await t.call('POST', `${url}/trust`, { token, payload });
  assert.equal(status, 201, JSON.stringify(json));
  return json.id;
};
const verify = async (partnerToken: string, more: object = {}) => {
  const payload = { token: partnerToken, ...more };
  const { status, json } = await t.call('POST', `${url}/verify`, { token: callerToken, payload });
  assert.equal(status, 200, JSON.stringify(json));
  return json;
};
const reasonOf = async (partnerToken: string, more: object = {}): Promise<string> => {
  const { valid, claims, reason } = await verify(partnerToken, more);
  assert.deepEqual([valid, claims], [false, undefined]);
  return reason;
};
const partner = async (alg?: string): Promise<Issuer> => {
  const issuer = await startIssuer(t.clock, alg);
  await trust(issuer.url, issuer.jwksUri);
  return issuer;
};
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = () => Math.floor(t.clock.now() / 1000);

describe('a token of a real provider (oidc-provider)', () => {
  it('200 valid with its claims; unknown_issuer as soon as the partner is removed', async () => {
    const provider = await startOidcProvider();
    const id = await trust(provider.issuer, provider.jwksUri);
    const good = await provider.token('https://tools.example');
    const { valid, claims, reason } = await verify(good, { audience: 'https://tools.example' });
    assert.deepEqual([valid, reason], [true, undefined]);
    assert.deepEqual(
      [claims.iss, claims.aud, claims.client_id, claims.scope],
      [provider.issuer, 'https://tools.example', 'pipeline', 'deploy'],
    );
    assert.equal(await reasonOf(good, { audience: 'https://other.example' }), 'audience_mismatch');
    await t.call('DELETE', `${url}/partners/${id}`, { token });
    assert.equal(await reasonOf(good), 'unknown_issuer');
  });
});

describe('valid tokens', () => {
  for (const alg of [
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
    'ES256',
    'ES384',
    'ES512',
    'EdDSA',
  ]) {
    it(`200 valid when signed by ${alg}`, async () => {
      const issuer = await partner(alg);
      assert.equal((await verify(await issuer.sign())).valid, true);
    });
  }
  it('200 valid without a kid where one key fits, and unknown_key where several do', async () => {
    const issuer = await partner();
    const [key] = issuer.keys as [Awaited<ReturnType<typeof makeKey>>];
    const unnamed = () => issuer.sign({}, { header: { kid: undefined as never } });
    assert.equal((await verify(await unnamed())).valid, true);
    issuer.keys = [key, await makeKey('ES256')];
    t.clock.advance(600_001);
    assert.equal(await reasonOf(await unnamed()), 'unknown_key');
    assert.equal((await verify(await issuer.sign())).valid, true);
  });
  it('200 valid with several audiences, one of which is requested', async () => {
    const issuer = await partner();
    const several = await issuer.sign({ aud: ['a', 'b'] });
    assert.equal((await verify(several, { audience: 'b' })).valid, true);
    assert.equal(await reasonOf(several, { audience: 'c' }), 'audience_mismatch');
    assert.equal(
      await reasonOf(await issuer.sign({ aud: undefined }), { audience: 'a' }),
      'audience_mismatch',
    );
  });
});

describe('refused tokens', async () => {
  const issuer = await partner('RS256');
  const [key] = issuer.keys as [Awaited<ReturnType<typeof makeKey>>];
  const unknownKey = await makeKey('RS256');
  const canary = await startIssuer(t.clock, 'RS256');
  const claims = () => ({ iss: issuer.url, sub: 'x', exp: seconds() + 300 });
  const pem = createPublicKey({ key: key.publicJwk as never, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  });
  const hmac = (header: object) => {
    const input = `${encode(header)}.${encode(claims())}`;
    return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`;
  };

  const cases: [string, string, () => string | Promise<string>][] = [
    ['a text that is not a JWT', 'malformed', () => 'garbage'],
    ['a trailing line break', 'malformed', async () => `${await issuer.sign({})}\n`],
    ['two parts', 'malformed', () => `${encode({ alg: 'RS256' })}.${encode(claims())}`],
    ['a header that is not an object', 'malformed', () => `${encode([])}.${encode(claims())}.AA`],
    ['claims that are not an object', 'malformed', () => `${encode({ alg: 'RS256' })}.${encode([])}.AA`],
    [
      'a NUL in its claims',
      'malformed',
      () => `${encode({ alg: 'RS256' })}.${encode({ ...claims(), sub: 'a\0' })}.AA`,
    ],
    ['exp as text', 'malformed', () => `${encode({ alg: 'RS256' })}.${encode({ ...claims(), exp: '9' })}.AA`],
    ['exp beyond the range of dates', 'malformed', () => issuer.sign({ exp: 1e300 })],
    ['sub as a number', 'malformed', () => issuer.sign({ sub: 7 as never })],
    ['16 KiB', 'too_large', () => issuer.sign({ padding: 'x'.repeat(16_384) })],
    ['alg none', 'algorithm_not_allowed', () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['alg nOnE', 'algorithm_not_allowed', () => `${encode({ alg: 'nOnE' })}.${encode(claims())}.`],
    [
      'alg constructor',
      'algorithm_not_allowed',
      () => `${encode({ alg: 'constructor' })}.${encode(claims())}.AA`,
    ],
    ['HS256 keyed with the public key', 'algorithm_not_allowed', () => hmac({ alg: 'HS256', kid: key.kid })],
    ['an HS256 signature declared as RS256', 'bad_signature', () => hmac({ alg: 'RS256', kid: key.kid })],
    [
      'another algorithm than the key is for',
      'unknown_key',
      () => new SignJWT(claims()).setProtectedHeader({ alg: 'PS256', kid: key.kid }).sign(key.privateKey),
    ],
    ['crit', 'critical_header', () => issuer.sign({}, { header: { crit: ['b64'], b64: true } as never })],
    ["a logout token's type", 'type_not_allowed', () => issuer.sign({}, { header: { typ: 'logout+jwt' } })],
    [
      "an unknown key with the partner's kid",
      'bad_signature',
      () => issuer.sign({}, { key: { ...unknownKey, kid: key.kid } }),
    ],
    ['an unknown key', 'unknown_key', () => issuer.sign({}, { key: unknownKey })],
    [
      'its own key in the header',
      'unknown_key',
      () => issuer.sign({}, { key: unknownKey, header: { jwk: unknownKey.publicJwk as JWK } }),
    ],
    [
      'jku and x5u that point elsewhere',
      'unknown_key',
      () => issuer.sign({}, { key: unknownKey, header: { jku: canary.jwksUri, x5u: canary.jwksUri } }),
    ],
    [
      'a changed claim',
      'bad_signature',
      async () => {
        const [header, , signature] = (await issuer.sign()).split('.');
        return `${header}.${encode({ ...claims(), sub: 'admin' })}.${signature}`;
      },
    ],
    ['an unknown issuer', 'unknown_issuer', () => issuer.sign({ iss: `${issuer.url}/` })],
    ['no issuer', 'missing_claim', () => issuer.sign({ iss: undefined })],
    ['no exp', 'missing_claim', () => issuer.sign({ exp: undefined })],
    ['an exp of this second', 'expired', () => issuer.sign({ exp: seconds() })],
    ['an nbf in two minutes', 'not_yet_valid', () => issuer.sign({ nbf: seconds() + 120 })],
    ['an iat in two minutes', 'issued_in_future', () => issuer.sign({ iat: seconds() + 120 })],
    [
      'a token of our own',
      'own_token',
      async () => token.replace(/^[^.]+/, encode({ alg: 'RS256', typ: 'JWT' })),
    ],
  ];
  for (const [what, reason, make] of cases) {
    it(`200 not valid: ${reason} for ${what}`, async () =>
      assert.equal(await reasonOf(await make()), reason));
  }
  it('no token header causes a connection', () => assert.equal(canary.connections(), 0));
  it('200 valid half a minute before nbf and iat: clock skew', async () => {
    const early = seconds() + 30;
    assert.equal((await verify(await issuer.sign({ nbf: early, iat: early }))).valid, true);
  });
  it('400 VALIDATION_ERROR for a missing, empty or non-text token, an empty audience and unknown fields', async () => {
    for (const payload of [
      {},
      { token: '' },
      { token: 7 },
      { token: 'x', issuer: 'y' },
      { token: 'x', audience: '' },
    ]) {
      const { status, json } = await t.call('POST', `${url}/verify`, { token, payload });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    }
  });
  it('counts verified and refused tokens', async () => {
    const { text } = await t.call('GET', '/metrics');
    assert.match(text, /service_federation_events_total\{event_type="token_verified"\} \d+/);
    assert.match(text, /service_federation_events_total\{event_type="token_refused"\} \d+/);
  });
});

describe('a change of the partner', () => {
  it('takes effect at once: another key set, another issuer', async () => {
    const [first, second] = [await startIssuer(t.clock), await startIssuer(t.clock)];
    const id = await trust(first.url, first.jwksUri);
    const good = await first.sign();
    assert.equal((await verify(good)).valid, true);
    const patch = (payload: object) => t.call('PATCH', `${url}/partners/${id}`, { token, payload });
    await patch({ jwksUri: second.jwksUri });
    assert.equal(await reasonOf(good), 'unknown_key');
    await patch({ issuer: second.url });
    assert.equal(await reasonOf(good), 'unknown_issuer');
    assert.equal((await verify(await second.sign())).valid, true);
  });
});
