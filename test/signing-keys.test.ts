/** The signing key decides the algorithm of everything that is signed, and no token can choose another. */
import assert from 'node:assert/strict';
import { constants, createHmac, createPrivateKey, createPublicKey, randomUUID, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import {
  compactVerify,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  flattenedVerify,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import { verifyExport } from '../sdk/typescript/src/audit/verify-export.ts';
import { createStatementReader, describePublicKey } from '../src/adapters/keys/keys.ts';
import { generateKeyPair, type KeyKind, keyKinds } from '../src/kernel/config/keypair.ts';
import { environment, startApp, type TestApp } from './support/harness.ts';
import { createDelegationClient } from './support/scenarios/delegations.ts';

type Pair = ReturnType<typeof generateKeyPair>;
const pairs: Record<KeyKind, Pair> = {
  rsa: generateKeyPair('rsa'),
  'p-256': generateKeyPair('p-256'),
  ed25519: generateKeyPair('ed25519'),
};
const algorithms: Record<KeyKind, string> = { rsa: 'RS256', 'p-256': 'ES256', ed25519: 'EdDSA' };
const members: Record<KeyKind, string[]> = {
  rsa: ['alg', 'e', 'kid', 'kty', 'n', 'use'],
  'p-256': ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
  ed25519: ['alg', 'crv', 'kid', 'kty', 'use', 'x'],
};
const variables = (own: Pair, ...further: Pair[]) => ({
  JWT_PRIVATE_KEY: own.privatePem,
  JWT_PUBLIC_KEY: own.publicPem,
  ...(further.length > 0 && {
    JWT_PREVIOUS_PUBLIC_KEYS: further.map(({ publicPem }) => publicPem).join(''),
  }),
});
const keyIdOf = async ({ publicPem }: Pair) => (await describePublicKey(createPublicKey(publicPem))).kid;

const read = async (t: TestApp, name: string) => (await t.call('GET', `/.well-known/${name}`)).json;
const status = async (t: TestApp, token: string) => (await t.call('GET', '/api/v1/agents', { token })).status;
const isActive = async (t: TestApp, token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, await t.token())).json.active;

for (const kind of keyKinds)
  describe(`a signing key of the kind ${kind}`, async () => {
    const algorithm = algorithms[kind];
    const pair = pairs[kind];
    const t = await startApp({ ...variables(pair), COMPLIANCE_ENABLED: 'true' });
    const keyId = await keyIdOf(pair);
    const jwks = createLocalJWKSet(await read(t, 'jwks.json'));

    it('200: discovery has the key and its algorithm', async () => {
      const { keys } = await read(t, 'jwks.json');
      assert.deepEqual(Object.keys(keys[0]).sort(), members[kind]);
      assert.deepEqual([keys.length, keys[0].alg, keys[0].use, keys[0].kid], [1, algorithm, 'sig', keyId]);
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const metadata = await read(t, name);
        assert.deepEqual(metadata.id_token_signing_alg_values_supported, [algorithm]);
        // What clients may sign with does not depend on our key.
        assert.ok(metadata.token_endpoint_auth_signing_alg_values_supported.includes('PS256'));
      }
    });
    it('200: access tokens verify with the published key, work, and can be revoked', async () => {
      const token = await t.token();
      assert.deepEqual(decodeProtectedHeader(token), { alg: algorithm, typ: 'at+jwt', kid: keyId });
      const options = { algorithms: [algorithm], typ: 'at+jwt', currentDate: new Date(t.clock.now()) };
      assert.equal((await jwtVerify(token, jwks, options)).payload.sub, t.operator.agentId);
      // The second request reads the cache of verified tokens.
      for (const _ of [1, 2]) assert.equal(await status(t, token), 200);
      assert.equal(await isActive(t, token), true);
      assert.equal((await t.form('/api/v1/token/revoke', { token }, token)).status, 200);
      assert.deepEqual([await status(t, token), await isActive(t, token)], [401, false]);
    });
    it('200: ID tokens and delegation tokens', async () => {
      const bearer = await t.token();
      const { json } = await t.form('/api/v1/oidc/id-token', { audience: 'sts.example.com' }, bearer);
      const { id_token_signing_alg_values_supported: supported } = await read(t, 'openid-configuration');
      const options = { algorithms: supported, currentDate: new Date(t.clock.now()) };
      const { protectedHeader } = await jwtVerify(json.id_token, jwks, options);
      assert.equal(protectedHeader.alg, algorithm);

      const [delegator, delegatee] = [await t.agent(), await t.agent()];
      const { createDelegation } = createDelegationClient(t);
      const token = await t.token(undefined, delegator);
      const { delegationToken } = await createDelegation(token, delegatee, ['agents:read']);
      assert.equal((await jwtVerify(delegationToken, jwks, options)).protectedHeader.alg, algorithm);
      const verified = await t.call('POST', '/api/v1/delegations/verify', {
        token: await t.token(undefined, delegatee),
        payload: { token: delegationToken },
      });
      assert.equal(verified.json.valid, true, verified.text);
    });
    it('200: cards and badges verify with the key of the DID document alone', async () => {
      const { agentId } = await t.agent();
      const document = (await t.call('GET', `/api/v1/agents/${agentId}/did`)).json;
      const methods = document.verificationMethod as { id: string; publicKeyJwk: JWK }[];
      const keyOf = ({ kid }: { kid?: string }) => {
        const method = methods.find(({ id }) => id === kid);
        assert.ok(method && document.assertionMethod.includes(kid));
        return importJWK(method.publicKeyJwk, algorithm);
      };
      const card = async (format: string) =>
        (await t.call('GET', `/api/v1/agents/${agentId}/did/card?format=${format}`)).json;

      const { signatures, ...a2a } = await card('a2a');
      const payload = Buffer.from(canonicalize(withoutEmptyLists(a2a)) as string).toString('base64url');
      const verified = await flattenedVerify({ ...signatures[0], payload }, keyOf);
      assert.equal(verified.protectedHeader?.alg, algorithm);

      const { signature, ...record } = await card('oasf');
      assert.equal(signature.algorithm, algorithm);
      const [header, , value] = Buffer.from(signature.content_bundle, 'base64').toString().split('.');
      const text = Buffer.from(canonicalize(record) as string).toString('base64url');
      await compactVerify(`${header}.${text}.${value}`, keyOf);

      const badge = (await card('badge')).id.split(',')[1];
      assert.equal((await compactVerify(badge, keyOf)).protectedHeader.alg, algorithm);
    });
    it('200: the audit log verifies, its checkpoints and its export too', async () => {
      const token = await t.token();
      const { json } = await t.call('GET', '/api/v1/audit/verify', { token });
      assert.equal(json.verified, true);
      const { data } = (await t.call('GET', '/api/v1/audit/checkpoints', { token })).json;
      const { protectedHeader } = await compactVerify(data[0].signed, jwks);
      assert.deepEqual([protectedHeader.alg, protectedHeader.kid], [algorithm, keyId]);
      const lines: string[] = [];
      await t.app.audit.export({ write: async ({ texts }) => void lines.push(...texts) });
      const verify = async (own: Pair) =>
        verifyExport(iterate(lines), {
          roots: [await describePublicKey(createPublicKey(own.publicPem))],
          read: createStatementReader(),
        });
      assert.equal((await verify(pair)).finding, undefined);
      assert.notEqual((await verify(generateKeyPair(kind))).finding, undefined);
    });
    it('pass: the control of the signing keys', async () => {
      const { json } = await t.call('GET', '/api/v1/compliance/controls', { token: await t.token() });
      const control = json.controls.find(({ id }: { id: string }) => id === 'CC6.1-KEYS');
      assert.equal(control.status, 'pass');
    });
  });

async function* iterate(lines: readonly string[]) {
  yield* lines;
}

const withoutEmptyLists = (card: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(card).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );

describe('tokens that name another algorithm than that of the key', async () => {
  const { rsa, 'p-256': p256, ed25519 } = pairs;
  const t = await startApp(variables(rsa, p256, ed25519));
  const [rsaId, ecId, edId] = (await Promise.all([rsa, p256, ed25519].map(keyIdOf))) as [
    string,
    string,
    string,
  ];
  const claims = decodeJwt(await t.token());
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = (header: object, signText: (text: Buffer) => Buffer) => {
    const text = `${encode({ typ: 'at+jwt', ...header })}.${encode({ ...claims, jti: randomUUID() })}`;
    return `${text}.${signText(Buffer.from(text)).toString('base64url')}`;
  };
  const keyOf = ({ privatePem }: Pair) => createPrivateKey(privatePem);
  const rs256 = (text: Buffer) => sign('sha256', text, keyOf(rsa));
  const es256 = (text: Buffer, own = p256) =>
    sign('sha256', text, { key: keyOf(own), dsaEncoding: 'ieee-p1363' });
  const edDsa = (text: Buffer) => sign(null, text, keyOf(ed25519));
  const hmac = (secret: string | Buffer) => (text: Buffer) =>
    createHmac('sha256', secret).update(text).digest();
  const publicKey = createPublicKey(p256.publicPem);

  for (const [alg, kid, signText] of [
    ['RS256', rsaId, rs256],
    ['ES256', ecId, es256],
    ['EdDSA', edId, edDsa],
  ] as const)
    it(`200: ${alg} with its own key`, async () => {
      const own = token({ alg, kid }, signText);
      assert.deepEqual([await status(t, own), await isActive(t, own)], [200, true]);
    });
  for (const [what, forged] of [
    ['HS256, keyed with the PEM of the EC key', token({ alg: 'HS256', kid: ecId }, hmac(p256.publicPem))],
    ['HS256, keyed with the PEM of the RSA key', token({ alg: 'HS256', kid: rsaId }, hmac(rsa.publicPem))],
    [
      'HS256, keyed with the DER of the EC key',
      token({ alg: 'HS256', kid: ecId }, hmac(publicKey.export({ type: 'spki', format: 'der' }))),
    ],
    [
      'HS256, keyed with x of the Ed25519 key',
      token(
        { alg: 'HS256', kid: edId },
        hmac(
          Buffer.from(String(createPublicKey(ed25519.publicPem).export({ format: 'jwk' }).x), 'base64url'),
        ),
      ),
    ],
    ['an HMAC declared as ES256', token({ alg: 'ES256', kid: ecId }, hmac(p256.publicPem))],
    ['none', token({ alg: 'none', kid: ecId }, () => Buffer.alloc(0))],
    ['none, with a signature', token({ alg: 'none', kid: ecId }, es256)],
    ['ES256 under the kid of the RSA key', token({ alg: 'ES256', kid: rsaId }, es256)],
    ['ES256 under the kid of the Ed25519 key', token({ alg: 'ES256', kid: edId }, es256)],
    ['RS256 under the kid of the EC key', token({ alg: 'RS256', kid: ecId }, rs256)],
    ['a signature of the EC key declared as RS256', token({ alg: 'RS256', kid: rsaId }, es256)],
    ['a signature of the EC key declared as EdDSA', token({ alg: 'EdDSA', kid: ecId }, es256)],
    ['Ed25519, the other name of EdDSA', token({ alg: 'Ed25519', kid: edId }, edDsa)],
    [
      'RS512 with the RSA key',
      token({ alg: 'RS512', kid: rsaId }, (text) => sign('sha512', text, keyOf(rsa))),
    ],
    [
      'PS256 with the RSA key',
      token({ alg: 'PS256', kid: rsaId }, (text) =>
        sign('sha256', text, {
          key: keyOf(rsa),
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: 32,
        }),
      ),
    ],
    ['ES384 declared for the P-256 key', token({ alg: 'ES384', kid: ecId }, es256)],
    [
      'ES256 with a signature in DER',
      token({ alg: 'ES256', kid: ecId }, (text) => sign('sha256', text, keyOf(p256))),
    ],
    ['ES256 with r and s of zero', token({ alg: 'ES256', kid: ecId }, () => Buffer.alloc(64))],
    ['EdDSA with a signature of zeros', token({ alg: 'EdDSA', kid: edId }, () => Buffer.alloc(64))],
    ['ES256 without a kid', token({ alg: 'ES256' }, es256)],
    [
      'ES256 with the key in the header',
      (() => {
        const own = generateKeyPair('p-256');
        const jwk = createPublicKey(own.publicPem).export({ format: 'jwk' });
        return token({ alg: 'ES256', kid: ecId, jwk }, (text) => es256(text, own));
      })(),
    ],
  ] as const)
    it(`401, and inactive: ${what}`, async () => {
      assert.deepEqual([await status(t, forged), await isActive(t, forged)], [401, false]);
    });
});

describe('rotation from RS256 to ES256 to EdDSA', () => {
  it('200: tokens of the former key stay valid while it is listed, and no longer than that', async () => {
    const test = environment('');
    const former = { privatePem: test.JWT_PRIVATE_KEY, publicPem: test.JWT_PUBLIC_KEY };
    const { 'p-256': p256, ed25519 } = pairs;
    const first = await startApp({ ...variables(former, p256), LOG_LEVEL: 'error' });
    const nodes = [first];
    const start = async (own: Pair, ...further: Pair[]): Promise<TestApp> => {
      const node = await startApp({ ...variables(own, ...further), LOG_LEVEL: 'error' }, first);
      nodes.push(node);
      return node;
    };
    const steps = [
      [p256, former],
      [p256, former, ed25519],
      [ed25519, p256, former],
    ] as const;
    const tokens = [await first.token()];
    for (const [own, ...further] of steps) {
      const node = await start(own, ...further);
      tokens.push(await node.token());
      for (const token of tokens)
        assert.deepEqual([await status(node, token), await isActive(node, token)], [200, true]);
      const { json } = await node.call('GET', '/api/v1/audit/verify', { token: tokens.at(-1) ?? '' });
      assert.equal(json.verified, true);
      const supported = (await read(node, 'openid-configuration')).id_token_signing_alg_values_supported;
      const published = (await read(node, 'jwks.json')).keys.map(({ alg }: { alg: string }) => alg);
      assert.deepEqual(supported, published);
    }
    assert.deepEqual(
      tokens.map((token) => decodeProtectedHeader(token).alg),
      ['RS256', 'ES256', 'ES256', 'EdDSA'],
    );
    const last = await start(ed25519);
    const statuses = await Promise.all(tokens.map((token) => status(last, token)));
    assert.deepEqual(statuses, [401, 401, 401, 200]);
    for (const { logs } of nodes) assert.deepEqual(logs, []);
  });
});
