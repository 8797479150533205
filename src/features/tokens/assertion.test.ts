import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, exportJWK, SignJWT } from 'jose';
import pg from 'pg';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { repetitions } from '../../../test/support/repetitions.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';
import { assertionType } from './clients/client-credential.ts';

const t = await startApp();
const operator = await t.token();
const { register, grant } = createGrants(t);
const endpoint = 'http://countersign.test/api/v1/token';
const pairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
};
const unregistered = generateKeyPairSync('ed25519');

async function keyedAgent() {
  const agent = await t.agent({ allowedScopes: ['agents:read'] });
  const keys = await Promise.all(
    Object.entries(pairs).map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid })),
  );
  const put = await t.call('PUT', `/api/v1/agents/${agent.agentId}/keys`, {
    token: operator,
    payload: { keys },
  });
  assert.equal(put.status, 200, put.text);
  return agent.agentId;
}
const agentId = await keyedAgent();

const claims = (changes: Record<string, unknown> = {}) => {
  const now = Math.floor(t.clock.now() / 1000);
  return {
    iss: agentId,
    sub: agentId,
    aud: endpoint,
    iat: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
    ...changes,
  };
};
const sign = (
  payload: Record<string, unknown>,
  alg: keyof typeof pairs = 'EdDSA',
  key: KeyObject = pairs[alg].privateKey,
  header = {},
) => new SignJWT(payload).setProtectedHeader({ alg, kid: alg, ...header }).sign(key);
const b64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const ask = (assertion: string, more: Record<string, string> = {}, headers = {}) =>
  t.askToken(
    {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: assertion,
      ...more,
    },
    headers,
  );

describe('private_key_jwt', () => {
  it('200 for a resource within the grant, also in one batch with our own API; 400 invalid_target without a grant', async () => {
    const [resource, other] = [await register(), await register()];
    await grant(agentId, resource, ['read', 'write']);
    const send = async (more: Record<string, string>) => ask(await sign(claims()), more);
    const [own, narrow, all, refused] = await Promise.all([
      send({}),
      send({ resource: resource.identifier, scope: 'write' }),
      send({ resource: resource.identifier }),
      send({ resource: other.identifier }),
    ]);
    assert.deepEqual(
      [own.json.scope, narrow.json.scope, all.json.scope, refused.json.error],
      ['agents:read', 'write', 'read write', 'invalid_target'],
    );
  });
  for (const alg of Object.keys(pairs) as (keyof typeof pairs)[]) {
    it(`200 with an assertion signed by ${alg}, once`, async () => {
      const assertion = await sign(claims(), alg);
      const { status, json } = await ask(assertion);
      assert.equal(status, 200);
      assert.equal(json.scope, 'agents:read');
      assert.equal(decodeJwt(json.access_token).credential_id, null);
      assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 200);
      const again = await ask(assertion);
      assert.deepEqual([again.status, again.json.error], [401, 'invalid_client']);
      const [row] = await t.sql<{ reason: string }>(
        "select metadata->>'reason' as reason from audit_events where agent_id = $1 and action = 'token.refused' order by occurred_at desc limit 1",
        [agentId],
      );
      assert.equal(row?.reason, 'the assertion was used before');
    });
  }
  it('200 with the issuer as audience, with client_id beside it, and with client_id alone in the claims', async () => {
    assert.equal((await ask(await sign(claims({ aud: 'http://countersign.test' })))).status, 200);
    assert.equal((await ask(await sign(claims({ aud: [endpoint] })), { client_id: agentId })).status, 200);
  });
  it('200 with the type client-authentication+jwt, with JWT, and with none', async () => {
    for (const typ of ['client-authentication+jwt', 'application/Client-Authentication+JWT', 'JWT'])
      assert.equal((await ask(await sign(claims(), 'EdDSA', undefined, { typ }))).status, 200, typ);
  });
  it('exactly one of twenty at once with the same assertion gets a token', async () => {
    const assertion = await sign(claims());
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(assertion)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 401).length, 19);
  });
  const now = () => Math.floor(t.clock.now() / 1000);
  const refused: [string, () => Promise<string>, Record<string, string>?][] = [
    ['a key that is not registered', () => sign(claims(), 'EdDSA', unregistered.privateKey)],
    ['another kid', () => sign(claims(), 'EdDSA', pairs.EdDSA.privateKey, { kid: 'other' })],
    ['another issuer', () => sign(claims({ iss: t.operator.agentId }))],
    ['another subject', () => sign(claims({ sub: t.operator.agentId }))],
    ['an unknown agent', () => sign(claims({ iss: crypto.randomUUID(), sub: crypto.randomUUID() }))],
    ['a subject that is no id', () => sign(claims({ iss: 'x', sub: 'x' }))],
    ['another audience', () => sign(claims({ aud: 'https://elsewhere.example' }))],
    ['another audience beside ours', () => sign(claims({ aud: ['https://other', endpoint] }))],
    ['both of our audiences', () => sign(claims({ aud: ['http://countersign.test', endpoint] }))],
    ['the issuer with a slash', () => sign(claims({ aud: 'http://countersign.test/' }))],
    ['another endpoint of ours', () => sign(claims({ aud: `${endpoint}/introspect` }))],
    ['an empty list of audiences', () => sign(claims({ aud: [] }))],
    ['the type of an access token', () => sign(claims(), 'EdDSA', undefined, { typ: 'at+jwt' })],
    [
      'the type of an identity assertion',
      () => sign(claims(), 'EdDSA', undefined, { typ: 'oauth-id-jag+jwt' }),
    ],
    ['no audience', () => sign(claims({ aud: undefined }))],
    ['no expiry', () => sign(claims({ exp: undefined }))],
    ['an expiry in the past', () => sign(claims({ exp: now() - 1 }))],
    ['an expiry in ten minutes', () => sign(claims({ exp: now() + 600 }))],
    ['no jti', () => sign(claims({ jti: undefined }))],
    ['an endless jti', () => sign(claims({ jti: 'x'.repeat(300) }))],
    ['a jti with NUL', () => sign(claims({ jti: 'a\0b' }))],
    ['a subject that is a list', () => sign(claims({ sub: [agentId] }))],
    ['a subject that is a number', () => sign(claims({ sub: 7 }))],
    [
      'no signature and a list as subject',
      async () => `${b64({ alg: 'none' })}.${b64({ sub: [[agentId]] })}.`,
    ],
    ['garbage', async () => 'not.an.assertion'],
    ['our own access token', async () => operator],
    ['another client_id beside it', () => sign(claims()), { client_id: t.operator.agentId }],
    [
      'a secret beside it',
      () => sign(claims()),
      { client_id: t.operator.clientId, client_secret: t.operator.clientSecret },
    ],
    ['another assertion type', () => sign(claims()), { client_assertion_type: 'urn:x' }],
  ];
  for (const [what, make, more] of refused) {
    it(`401 invalid_client for ${what}`, async () => {
      const { status, json } = await ask(await make(), more);
      assert.deepEqual([status, json.error], [401, 'invalid_client'], JSON.stringify(json));
    });
  }
  it('401 invalid_client for a jti that is no text, which does not use up the one it would be kept as', async () => {
    assert.equal((await ask(await sign(claims({ jti: 'one\ud800' })))).status, 401);
    assert.equal((await ask(await sign(claims({ jti: 'one\ufffd' })))).status, 200);
  });
  it('401 invalid_client with Basic beside it, and for an agent without keys', async () => {
    const basic = Buffer.from(`${t.operator.clientId}:${t.operator.clientSecret}`).toString('base64');
    assert.equal((await ask(await sign(claims()), {}, { authorization: `Basic ${basic}` })).status, 401);
    const { agentId: keyless } = await t.agent();
    assert.equal((await ask(await sign(claims({ iss: keyless, sub: keyless })))).status, 401);
  });
  it('nothing comes of an assertion in flight once keys are replaced or the agent is suspended', async () => {
    const other = await keyedAgent();
    const path = `/api/v1/agents/${other}`;
    const { keys } = (await t.call('GET', `${path}/keys`, { token: operator })).json;
    const inFlight = async () => ask(await sign(claims({ iss: other, sub: other })));
    for (let round = 0; round < repetitions(10, 100); round += 1) {
      const [suspended, ...answers] = await Promise.all([
        t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } }),
        ...Array.from({ length: 4 }, inFlight),
      ]);
      assert.equal(suspended.status, 200);
      await t.call('PATCH', path, { token: operator, payload: { status: 'active' } });
      for (const { json } of answers.filter(({ status }) => status === 200)) {
        assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 401);
      }
      const [replaced] = await Promise.all([
        t.call('PUT', `${path}/keys`, { token: operator, payload: { keys: [] } }),
        inFlight(),
      ]);
      assert.equal(replaced.status, 200);
      assert.equal((await inFlight()).status, 401);
      await t.call('PUT', `${path}/keys`, { token: operator, payload: { keys } });
    }
  });
  it('401 invalid_client for an assertion whose key is replaced between its verification and the issue', async () => {
    const other = await keyedAgent();
    const holder = new pg.Client({ connectionString: t.databaseUrl });
    await holder.connect();
    try {
      const { rows } = await holder.query('select pg_backend_pid() as pid');
      await holder.query('begin');
      // Not visible to the verification, which reads without a lock.
      await holder.query('update agents set public_keys = $2 where agent_id = $1', [other, '[]']);
      const answer = ask(await sign(claims({ iss: other, sub: other })));
      await until('the issue waits for the change', async () => {
        const waiting = 'select from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))';
        return (await t.sql(waiting, [rows[0].pid])).length > 0 || undefined;
      });
      await holder.query('commit');
      const { status, json } = await answer;
      assert.deepEqual([status, json.error], [401, 'invalid_client']);
    } finally {
      await holder.end();
    }
  });
  it('401 once the key has been replaced; 403 unauthorized_client while the agent is suspended', async () => {
    const path = `/api/v1/agents/${agentId}`;
    await t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } });
    const suspended = await ask(await sign(claims()));
    assert.deepEqual([suspended.status, suspended.json.error], [403, 'unauthorized_client']);
    await t.call('PATCH', path, { token: operator, payload: { status: 'active' } });
    assert.equal((await ask(await sign(claims()))).status, 200);
    await t.call('PUT', `${path}/keys`, { token: operator, payload: { keys: [] } });
    assert.equal((await ask(await sign(claims()))).status, 401);
  });
});
