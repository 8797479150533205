import assert from 'node:assert/strict';
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type Answer, startApp, type TestApp } from '../../../test/support/harness.ts';
import type { RouteEntry } from './route.ts';

const t = await startApp();
const ourPem = process.env.TEST_PUBLIC_KEY ?? '';
const ourKey = createPrivateKey(process.env.TEST_PRIVATE_KEY ?? '');
const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
/** Its signature reads differently in the other base64 alphabet. */
let real = await t.token();
while (!/[-_][^.]*$/.test(real)) real = await t.token();
const realHeader = decodeProtectedHeader(real);
const realClaims = decodeJwt(real);
const now = Math.floor(Date.now() / 1000);

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signedText = (claims: object, header: object) =>
  `${part({ ...realHeader, ...header })}.${part({ ...realClaims, ...claims })}`;

/** The real token with changes, signed properly by hand: libraries refuse to make most of these. */
function forge(claims: object = {}, header: object = {}, key: KeyObject = ourKey): string {
  const text = signedText(claims, header);
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}
const unsigned = (alg: string, header: object = {}) => `${signedText({}, { alg, ...header })}.`;
const hmac = (key: string) => {
  const text = signedText({}, { alg: 'HS256' });
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};
const [head = '', body = '', signature = ''] = real.split('.');
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const otherSpelling = signature.slice(0, -1) + alphabet[alphabet.indexOf(signature.at(-1) ?? '') ^ 1];

// A key server that no token header may make us contact.
let asked = 0;
const elsewhere = createServer((_, response) => {
  asked += 1;
  response.end(JSON.stringify({ keys: [foreign.publicKey.export({ format: 'jwk' })] }));
}).listen(0, '127.0.0.1');
await once(elsewhere, 'listening');
after(() => elsewhere.close());
const elsewhereUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/keys`;
const ourJwk = createPublicKey(ourPem).export({ format: 'jwk' });
const foreignJwk = foreign.publicKey.export({ format: 'jwk' });

const use = (authorization: string | undefined, app: TestApp = t): Promise<Answer> =>
  app.call('GET', '/api/v1/agents', { headers: authorization === undefined ? {} : { authorization } });

function assertUnauthorized({ status, json, headers }: Answer, presented: boolean) {
  assert.equal(status, 401);
  assert.deepEqual(Object.keys(json), ['code', 'message']);
  assert.equal(json.code, 'UNAUTHORIZED');
  const challenge = String(headers['www-authenticate']);
  assert.match(challenge, /^Bearer\b/);
  // RFC 6750 §3.1: without a token there is no error code.
  assert.equal(challenge.includes('error="invalid_token"'), presented);
}

const absent: [string, string | undefined][] = [
  ['no header', undefined],
  ['an empty header', ''],
  ['Bearer alone', 'Bearer'],
  ['Bearer and a space', 'Bearer '],
  ['two words', `Bearer ${real} ${real}`],
  ['a trailing space', `Bearer ${real} `],
  ['a tab', `Bearer\t${real}`],
  ['the token alone', real],
  ['Basic', `Basic ${Buffer.from(`${t.operator.clientId}:${t.operator.clientSecret}`).toString('base64')}`],
  ['another scheme', `MAC ${real}`],
];

const tokens: [string, string][] = [
  ['garbage', 'garbage'],
  ['dots', '..'],
  ['the client secret', t.operator.clientSecret],
  ['a hundred thousand letters', 'x'.repeat(100_000)],
  ...['none', 'None', 'NONE', 'nOnE', 'none ', ''].flatMap((alg): [string, string][] => [
    [`alg "${alg}" unsigned`, unsigned(alg)],
    [`alg "${alg}" with a signature`, unsigned(alg) + signature],
    [`alg "${alg}" without kid`, unsigned(alg, { kid: undefined })],
  ]),
  ['no alg', unsigned('none', { alg: undefined })],
  ['HS256 keyed with our public key', hmac(ourPem)],
  ['HS256 keyed with our public key, trimmed', hmac(ourPem.trim())],
  ['RS512 by our key', forge({}, { alg: 'RS512' })],
  ['PS256 in the header', forge({}, { alg: 'PS256' })],
  ['a foreign key and kid', forge({}, { kid: 'foreign' }, foreign.privateKey)],
  ['our kid, another key', forge({}, {}, foreign.privateKey)],
  ['no kid', forge({}, { kid: undefined })],
  ['a kid that is a path', forge({}, { kid: '../../../../dev/null' }, foreign.privateKey)],
  ['a kid that is SQL', forge({}, { kid: "' or 1=1 --" }, foreign.privateKey)],
  ['a kid that objects have', forge({}, { kid: 'constructor' }, foreign.privateKey)],
  ['a kid of the wrong type', forge({}, { kid: [realHeader.kid] })],
  ['jku', forge({}, { jku: elsewhereUrl, kid: 'x' }, foreign.privateKey)],
  ['jku beside our kid', forge({}, { jku: elsewhereUrl }, foreign.privateKey)],
  ['x5u', forge({}, { x5u: elsewhereUrl }, foreign.privateKey)],
  ['jwk', forge({}, { jwk: foreignJwk, kid: undefined }, foreign.privateKey)],
  ...[{ jku: elsewhereUrl }, { x5u: elsewhereUrl }, { jwk: ourJwk }, { cty: 'JWT' }].map(
    (extra): [string, string] => [`our key, and ${Object.keys(extra)} beside it`, forge({}, extra)],
  ),
  ['an unknown crit', forge({}, { crit: ['vip'], vip: true })],
  ['an unencoded payload', forge({}, { crit: ['b64'], b64: false })],
  ...[undefined, 'JWT', 'delegation+jwt', 'id+jwt', 7].map((typ): [string, string] => [
    `typ ${typ}`,
    forge({}, { typ }),
  ]),
  ['another issuer', forge({ iss: 'http://evil.test' })],
  ['another audience', forge({ aud: 'http://evil.test' })],
  ['our audience with a slash', forge({ aud: `${realClaims.aud}/` })],
  ['several audiences, none ours', forge({ aud: ['http://a.test', 'http://b.test'] })],
  ['expired a second ago', forge({ exp: now - 1 })],
  ['not before tomorrow', forge({ nbf: now + 86_400 })],
  ...['iss', 'aud', 'sub', 'client_id', 'scope', 'organization_id', 'iat', 'exp', 'jti'].map(
    (claim): [string, string] => [`no ${claim}`, forge({ [claim]: undefined })],
  ),
  ...['iss', 'aud', 'sub', 'client_id', 'scope', 'organization_id', 'iat', 'exp', 'jti'].flatMap((claim) =>
    [null, true, {}, ['agents:read'], claim === 'iat' || claim === 'exp' ? '9999999999' : 7].map(
      (value): [string, string] => [`${claim} ${JSON.stringify(value)}`, forge({ [claim]: value })],
    ),
  ),
  ['an agent that does not exist', forge({ sub: crypto.randomUUID() })],
  ['a sub that is no UUID', forge({ sub: "x' or true --" })],
  ['a sub with NUL', forge({ sub: 'a\0b' })],
  ['another spelling of the same signature', `${head}.${body}.${otherSpelling}`],
  ['padding', `${real}==`],
  ['the other base64 alphabet', `${head}.${body}.${signature.replaceAll('-', '+').replaceAll('_', '/')}`],
  ['a padded payload', `${head}.${body}=.${signature}`],
  ['a trailing letter', `${real}A`],
  ['a trailing dot', `${real}.`],
  ['five parts', `${real}.${body}.${signature}`],
  [
    'another payload under our signature',
    `${head}.${part({ ...realClaims, scope: 'admin:orgs' })}.${signature}`,
  ],
];

describe('401 UNAUTHORIZED', () => {
  for (const [what, authorization] of absent) {
    it(`without error for ${what}`, async () => assertUnauthorized(await use(authorization), false));
  }
  for (const [what, token] of tokens) {
    it(`invalid_token for ${what}`, async () => assertUnauthorized(await use(`Bearer ${token}`), true));
  }
  it('no request went to the key server of a token header', () => assert.equal(asked, 0));

  for (const status of ['suspended', 'decommissioned']) {
    it(`when the agent is ${status}, at once`, async () => {
      const agent = await t.agent();
      const authorization = `Bearer ${await t.token(undefined, agent)}`;
      assert.equal((await use(authorization)).status, 200);
      await t.call('PATCH', `/api/v1/agents/${agent.agentId}`, { token: real, payload: { status } });
      assertUnauthorized(await use(authorization), true);
    });
  }

  it('for any other header', async () => {
    const word = fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.json());
    const mangled = fc
      .tuple(fc.nat(real.length - 1), fc.constantFrom(...alphabet, '.', '=', '%', 'é'))
      .map(([at, letter]) => real.slice(0, at) + letter + real.slice(at + 1))
      .filter((token) => token !== real);
    const rebuilt = fc
      .tuple(fc.object(), fc.object())
      .map(([header, claims]) => `${part(header)}.${part(claims)}.${signature}`);
    const header = fc.oneof(
      word,
      fc.oneof(word, mangled, rebuilt).map((token) => `Bearer ${token}`),
      word.map((credentials) => `Basic ${credentials}`),
    );
    await fc.assert(
      fc.asyncProperty(header, async (authorization) => {
        const { status, json } = await use(authorization);
        assert.deepEqual([status, json.code], [401, 'UNAUTHORIZED']);
      }),
      { numRuns: 300 },
    );
  });
});

describe('200', () => {
  const taken: [string, string][] = [
    ['a real token', `Bearer ${real}`],
    ['the same, signed by hand', `Bearer ${forge()}`],
    // RFC 9110 §11.1: the scheme is case-insensitive, and followed by one space or more.
    ['bearer in lower case', `bearer ${real}`],
    ['two spaces', `Bearer  ${real}`],
    ['a long name of the type', `Bearer ${forge({}, { typ: 'application/at+jwt' })}`],
  ];
  for (const [what, authorization] of taken) {
    it(`for ${what}`, async () => assert.equal((await use(authorization)).status, 200));
  }
});

describe('every route', () => {
  const guarded = t.app.routes.filter(({ access }) =>
    ['scope', 'clientOrScope', 'bearer'].includes(access.kind),
  );
  const callRoute = ({ method, path }: RouteEntry, token?: string) =>
    t.call(
      method,
      path.replace(/:\w+/g, () => crypto.randomUUID()),
      token === undefined ? {} : { token },
    );

  it('401 UNAUTHORIZED without a token, before anything is read', async () => {
    for (const entry of guarded) assertUnauthorized(await callRoute(entry), false);
  });
  it('403 INSUFFICIENT_SCOPE with every scope but its own', async () => {
    for (const entry of guarded) {
      if (entry.access.kind !== 'scope' && entry.access.kind !== 'clientOrScope') continue;
      const { scope } = entry.access;
      const others = String(realClaims.scope)
        .split(' ')
        .filter((held) => held !== scope);
      const { status, json, headers } = await callRoute(entry, await t.token(others.join(' ')));
      assert.deepEqual([status, json.code], [403, 'INSUFFICIENT_SCOPE'], entry.path);
      assert.equal(json.details.required, scope);
      assert.ok(json.message.includes(`needs the scope ${scope},`), json.message);
      assert.match(String(headers['www-authenticate']), /^Bearer .*error="insufficient_scope"/);
      assert.ok(String(headers['www-authenticate']).includes(`scope="${scope}"`));
    }
  });
  for (const status of ['suspended', 'deleted']) {
    it(`403 ORG_SUSPENDED while the organization is ${status}, with every scope`, async () => {
      const payload = { name: 'Other', slug: `soon-${status}`, planTier: 'pro' };
      const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: real, payload }))
        .json;
      const token = await t.token(undefined, await t.agent({ organization_id: organizationId }));
      assert.equal((await use(`Bearer ${token}`)).status, 200);
      const path = `/api/v1/organizations/${organizationId}`;
      await (status === 'deleted'
        ? t.call('DELETE', path, { token: real })
        : t.call('PATCH', path, { token: real, payload: { status } }));
      for (const entry of guarded) {
        const { status, json } = await callRoute(entry, token);
        assert.deepEqual([status, json.code], [403, 'ORG_SUSPENDED'], entry.path);
      }
      assert.equal((await t.call('GET', '/health', { token })).status, 200);
    });
  }
});

it('after a key rotation old tokens fail, unless the old key is a previous one; new tokens work', async () => {
  const pem = (key: KeyObject, type: 'pkcs8' | 'spki') => key.export({ type, format: 'pem' }).toString();
  const changed = {
    JWT_PRIVATE_KEY: pem(foreign.privateKey, 'pkcs8'),
    JWT_PUBLIC_KEY: pem(foreign.publicKey, 'spki'),
    METRICS_TOKEN: 'scrape-me',
  };
  for (const [changes, expected] of [
    [changed, 401],
    [{ ...changed, JWT_PREVIOUS_PUBLIC_KEYS: ourPem }, 200],
  ] as const) {
    const app = await startApp(changes);
    const { agentId: sub, organizationId: organization_id } = app.operator;
    const old = forge({ sub, client_id: sub, organization_id, credential_id: null });
    assert.equal((await use(`Bearer ${old}`, app)).status, expected);
    assert.equal((await use(`Bearer ${await app.token()}`, app)).status, 200);
    assert.notEqual(decodeProtectedHeader(await app.token()).kid, realHeader.kid);
    // The metrics secret is no access token, nor the other way round.
    assertUnauthorized(await use('Bearer scrape-me', app), true);
    assertUnauthorized(await app.call('GET', '/metrics', { token: await app.token() }), true);
    assertUnauthorized(await app.call('GET', '/metrics', { token: 'scrape-mf' }), true);
    assertUnauthorized(await app.call('GET', '/metrics'), false);
    assert.equal((await app.call('GET', '/metrics', { token: 'scrape-me' })).status, 200);
  }
  assert.equal((await t.call('GET', '/metrics')).status, 200);
});

it('a token expires after 3600 seconds', async () => {
  const authorization = `Bearer ${await t.token()}`;
  t.clock.advance(3_540_000);
  assert.equal((await use(authorization)).status, 200);
  t.clock.advance(60_000);
  assertUnauthorized(await use(authorization), true);
});
