import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, decodeJwt, exportJWK, jwtVerify } from 'jose';
import { type Answer, startApp } from '../../../test/support/harness.ts';

const t = await startApp({ LOG_LEVEL: 'trace' });
const agent = await t.agent({ allowedScopes: ['audit:read', 'agents:write', 'agents:read'] });
const allAllowed = 'agents:read agents:write audit:read';

const grant = { grant_type: 'client_credentials' };
const inBody = { client_id: agent.clientId, client_secret: agent.clientSecret };
const good = { ...grant, ...inBody };
const basic = (id: string, secret: string, scheme = 'Basic') => ({
  authorization: `${scheme} ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const byBasic = basic(agent.clientId, agent.clientSecret);
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const send = (payload: string, headers: Record<string, string> = form, query = '') =>
  t.call('POST', `/api/v1/token${query}`, { payload, headers });
const goodText = new URLSearchParams(good).toString();

describe('200 POST /token', () => {
  it('answers the four fields, never to be cached', async () => {
    const { status, headers, json } = await t.askToken(good);
    assert.equal(status, 200);
    assert.deepEqual(json, {
      access_token: json.access_token,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: allAllowed,
    });
    assert.equal(headers['cache-control'], 'no-store');
    assert.match(String(headers['content-type']), /^application\/json/);
  });

  it('a parameter without a value counts as left out (RFC 6749 §3.2)', async () => {
    const empty = { client_assertion: '', client_assertion_type: '', resource: '', scope: '' };
    const { status, json } = await t.askToken({ ...good, ...empty });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(decodeJwt(json.access_token).aud, 'http://countersign.test');
    assert.equal(json.scope, allAllowed);
    const beside = { client_id: '', client_secret: '', client_assertion: '' };
    assert.equal((await t.askToken({ ...grant, ...beside }, byBasic)).status, 200);
    const alone = await t.askToken({ ...good, client_secret: '' });
    assert.deepEqual([alone.status, alone.json.error], [401, 'invalid_client']);
  });

  it('a token after RFC 9068: at+jwt, the key by its thumbprint, and our claims', async () => {
    const publicKey = createPublicKey(process.env.TEST_PUBLIC_KEY ?? '');
    const verify = async () => {
      const { access_token } = (await t.askToken({ ...good, scope: 'agents:read' })).json;
      return jwtVerify(access_token, publicKey, { algorithms: ['RS256'] });
    };
    const { payload, protectedHeader } = await verify();
    const kid = await calculateJwkThumbprint(await exportJWK(publicKey));
    assert.deepEqual(protectedHeader, { alg: 'RS256', typ: 'at+jwt', kid });
    const { iat = 0, jti, credential_id, ...rest } = payload;
    assert.ok(Math.abs(iat - Date.now() / 1000) < 60);
    assert.match(String(jti), /^[0-9a-f-]{36}$/);
    assert.match(String(credential_id), /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      iss: 'http://countersign.test',
      aud: 'http://countersign.test',
      sub: agent.agentId,
      client_id: agent.clientId,
      scope: 'agents:read',
      organization_id: t.operator.organizationId,
      epoch: 0,
      exp: iat + 3600,
    });
    assert.notEqual((await verify()).payload.jti, jti);
  });

  const accepted: [string, Record<string, string>, Record<string, string>][] = [
    ['HTTP Basic', grant, byBasic],
    ['basic in lower case', grant, basic(agent.clientId, agent.clientSecret, 'basic')],
    ['Basic, and the same client_id in the body', { ...grant, client_id: agent.clientId }, byBasic],
    // RFC 6749 §2.3.1 has both parts form-encoded.
    ['Basic, percent-encoded', grant, basic(agent.clientId.replaceAll('-', '%2D'), agent.clientSecret)],
    ['a client_id in upper case', { ...good, client_id: agent.clientId.toUpperCase() }, {}],
    // RFC 6749 §3.2: unrecognized parameters are ignored.
    ['an unknown parameter', { ...good, colour: 'blue' }, {}],
    ['a content type with charset', good, { 'content-type': `${form['content-type']}; charset=UTF-8` }],
  ];
  for (const [what, fields, headers] of accepted) {
    it(`for ${what}`, async () => {
      const { status, json } = await t.askToken(fields, headers);
      assert.equal(status, 200);
      assert.equal(decodeJwt(json.access_token).sub, agent.agentId);
    });
  }

  const scopes: [string, string, string | undefined][] = [
    ['empty, which is the same as omitted', '', allAllowed],
    ['a part', 'agents:write', 'agents:write'],
    ['in another order', 'audit:read agents:read', 'agents:read audit:read'],
    ['repeated', 'agents:read agents:read', 'agents:read'],
    ['with more spaces than needed', '  agents:read   audit:read ', 'agents:read audit:read'],
    ['unknown', 'agents:read make:coffee', undefined],
    ['known but not allowed', 'agents:read tokens:read', undefined],
    ['the operator’s', 'admin:orgs', undefined],
    ['in capitals', 'AGENTS:READ', undefined],
    ['with commas', 'agents:read,audit:read', undefined],
    ['with a tab', 'agents:read\taudit:read', undefined],
  ];
  for (const [what, scope, granted] of scopes) {
    it(`${granted === undefined ? 'but 400 unsupported_grant_type ' : ''}when the scope is ${what}`, async () => {
      const answer = await t.askToken({ ...good, scope });
      if (granted === undefined) return assertRefused(answer, 400, 'unsupported_grant_type');
      assert.equal(answer.json.scope, granted);
      assert.equal(decodeJwt(answer.json.access_token).scope, granted);
    });
  }
  it('an agent that may hold nothing gets a token that says so', async () => {
    const { clientId: client_id, clientSecret: client_secret } = await t.agent({ allowedScopes: [] });
    assert.equal((await t.askToken({ ...grant, client_id, client_secret })).json.scope, '');
  });
});

function assertRefused({ status, headers, json, text }: Answer, expected: number, error: string) {
  assert.equal(status, expected, text);
  assert.deepEqual(Object.keys(json), ['error', 'error_description']);
  assert.equal(json.error, error);
  assert.ok(!text.includes(agent.clientSecret));
  if (expected === 401) {
    // RFC 6749 §5.2.
    assert.match(String(headers['www-authenticate']), /^Basic realm=/);
    assert.equal(headers['cache-control'], 'no-store');
  }
}

const refusals: [number, string, string, () => Promise<Answer>][] = [
  [400, 'unsupported_grant_type', 'grant_type is missing', () => t.askToken(inBody)],
  ...['password', 'implicit', 'CLIENT_CREDENTIALS', '', 'x'.repeat(1000)].map(
    (grant_type): (typeof refusals)[0] => [
      400,
      'unsupported_grant_type',
      `grant_type is "${grant_type.slice(0, 20)}"`,
      () => t.askToken({ ...inBody, grant_type }),
    ],
  ),
  ...Object.entries({ ...good, scope: 'agents:read' }).map(([name, value]): (typeof refusals)[0] => [
    400,
    'unsupported_grant_type',
    `${name} is repeated`,
    () => send(`${goodText}&scope=agents:read&${name}=${value}`),
  ]),
  [
    400,
    'unsupported_grant_type',
    'client_id is repeated behind a thousand fields',
    () => send(`${goodText}${'&x=1'.repeat(1_000)}&client_id=${agent.clientId}`),
  ],
  ...['client_id', 'client_secret'].flatMap((name): typeof refusals => [
    [
      400,
      'unsupported_grant_type',
      `${name} is missing`,
      () => t.askToken(Object.fromEntries(Object.entries(good).filter(([field]) => field !== name))),
    ],
    [
      400,
      'unsupported_grant_type',
      `${name} is in the address as well`,
      () => send(goodText, form, `?${name}=x`),
    ],
  ]),
  [400, 'unsupported_grant_type', 'all is in the address', () => send('', form, `?${goodText}`)],
  [
    400,
    'unsupported_grant_type',
    'the body is JSON',
    () => send(JSON.stringify(good), { 'content-type': 'application/json' }),
  ],
  [400, 'unsupported_grant_type', 'the body is text', () => send(goodText, { 'content-type': 'text/plain' })],
  [
    400,
    'unsupported_grant_type',
    'the body is said to be compressed',
    () => send(goodText, { ...form, 'content-encoding': 'gzip' }),
  ],
  [400, 'unsupported_grant_type', 'there is no body', () => t.call('POST', '/api/v1/token')],
  [400, 'unsupported_grant_type', 'a field holds NUL', () => t.askToken({ ...good, scope: 'a\0b' })],
  [400, 'unsupported_grant_type', 'a field is not encoded soundly', () => send(`${goodText}&zz=%zz`)],
  [400, 'unsupported_grant_type', 'a field is __proto__', () => send(`${goodText}&__proto__=1`)],
  [401, 'invalid_client', 'the secret is endless', () => send(`${goodText}${'x'.repeat(20_000)}`)],
  [400, 'unsupported_grant_type', 'an unknown field is repeated', () => send(`${goodText}&zz=1&zz=2`)],
  [401, 'invalid_client', 'the Basic header is empty', () => t.askToken(good, { authorization: 'Basic' })],
  [401, 'invalid_client', 'the id is unknown', () => t.askToken({ ...good, client_id: crypto.randomUUID() })],
  [401, 'invalid_client', 'the id is no UUID', () => t.askToken({ ...good, client_id: "' or true --" })],
  [
    401,
    'invalid_client',
    'the id is nil',
    () => t.askToken({ ...good, client_id: crypto.randomUUID().replace(/\w/g, '0') }),
  ],
  [401, 'invalid_client', 'the secret is wrong', () => t.askToken({ ...good, client_secret: 'cs_wrong' })],
  [401, 'invalid_client', 'the secret is empty', () => t.askToken({ ...good, client_secret: '' })],
  [
    401,
    'invalid_client',
    'the secret is another agent’s',
    () => t.askToken({ ...good, client_secret: t.operator.clientSecret }),
  ],
  [401, 'invalid_client', 'Basic is wrong', () => t.askToken(grant, basic(agent.clientId, 'cs_wrong'))],
  [401, 'invalid_client', 'Basic and body come together', () => t.askToken(good, byBasic)],
  [
    401,
    'invalid_client',
    'Basic and body name different clients',
    () => t.askToken({ ...grant, client_id: t.operator.clientId }, byBasic),
  ],
  ...[
    'Basic ???',
    `Basic ${Buffer.from('nocolon').toString('base64')}`,
    `Basic ${btoa('%zz:%zz')}`,
    `${byBasic.authorization} x`,
    `${byBasic.authorization}, Basic x`,
  ].map((authorization): (typeof refusals)[0] => [
    401,
    'invalid_client',
    `the header is ${authorization}`,
    () => t.askToken(grant, { authorization }),
  ]),
];

describe('refused at POST /token', () => {
  for (const [status, error, what, ask] of refusals) {
    it(`${status} ${error} when ${what}`, async () => assertRefused(await ask(), status, error));
  }

  const changes: [number, string, string, string][] = [
    [
      401,
      'invalid_client',
      'the credential has expired',
      "update credentials set expires_at = now() - interval '1 second' where agent_id = $1",
    ],
    [
      401,
      'invalid_client',
      'the credential is revoked',
      "update credentials set status = 'revoked', revoked_at = now() where agent_id = $1",
    ],
    [401, 'invalid_client', 'the credential is gone', 'delete from credentials where agent_id = $1'],
    [
      403,
      'unauthorized_client',
      'the agent is suspended',
      "update agents set status = 'suspended' where agent_id = $1",
    ],
    [
      403,
      'unauthorized_client',
      'the agent is decommissioned',
      "update agents set status = 'decommissioned' where agent_id = $1",
    ],
    ...['suspended', 'deleted'].map((status): [number, string, string, string] => [
      403,
      'unauthorized_client',
      `the organization is ${status}`,
      `with o as (insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
         values (gen_random_uuid(), 'Other', '${status}', 'free', '${status}', now(), now()) returning organization_id)
       update agents set organization_id = (select organization_id from o) where agent_id = $1`,
    ]),
  ];
  for (const [status, error, what, statement] of changes) {
    it(`${status} ${error} when ${what}`, async () => {
      const { agentId, clientId: client_id, clientSecret: client_secret } = await t.agent();
      assert.equal((await t.askToken({ ...grant, client_id, client_secret })).status, 200);
      await t.sql(statement, [agentId]);
      assertRefused(await t.askToken({ ...grant, client_id, client_secret }), status, error);
      // Without the secret, the answer tells nothing of this.
      assertRefused(
        await t.askToken({ ...grant, client_id, client_secret: 'cs_wrong' }),
        401,
        'invalid_client',
      );
    });
  }
});
