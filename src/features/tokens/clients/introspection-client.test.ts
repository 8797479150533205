/** Introspection by a resource server that authenticates with client credentials (RFC 7662 §2.1). */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { type Answer, startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { assertionType } from './client-credential.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '500' });
const url = '/api/v1/token/introspect';
const metadata = 'http://countersign.test/.well-known/oauth-protected-resource';
const allowedScopes = ['agents:read', 'tokens:read'];

interface Client {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const basic = ({ clientId, clientSecret }: Pick<Client, 'clientId' | 'clientSecret'>) => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});
const ask = (fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> =>
  t.call('POST', url, {
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
const asClient = (client: Client, token: string) => ask({ token }, basic(client));
const inBody = ({ clientId, clientSecret }: Client, token: string) =>
  ask({ token, client_id: clientId, client_secret: clientSecret });
const operate = async (method: 'POST' | 'PATCH' | 'DELETE' | 'PUT', path: string, payload?: object) => {
  const answer = await t.call(method, `/api/v1${path}`, {
    token: await t.token(),
    ...(payload && { payload }),
  });
  assert.ok(answer.status < 300, answer.text);
  return answer;
};
const credentialIdOf = async ({ agentId }: Client): Promise<string> =>
  (await t.call('GET', `/api/v1/agents/${agentId}/credentials`, { token: await t.token() })).json.data[0]
    .credentialId;
const organization = async (): Promise<string> =>
  (await operate('POST', '/organizations', { name: 'Other', slug: `other-${crypto.randomUUID()}` })).json
    .organizationId;

const assertRefused = (answer: Answer, message: RegExp) => {
  assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED'], answer.text);
  assert.match(answer.json.message, message);
  assert.equal(
    answer.headers['www-authenticate'],
    `Basic realm="countersign", Bearer scope="tokens:read", resource_metadata="${metadata}"`,
  );
};

const server = await t.agent({ allowedScopes });
const token = await t.token('agents:read', server);

describe('POST /token/introspect with client credentials', () => {
  it('200 by HTTP Basic and in the body, as with an access token of the client', async () => {
    const { json } = await t.form(url, { token }, await t.token(undefined, server));
    assert.equal(json.active, true);
    for (const answer of [await asClient(server, token), await inBody(server, token)])
      assert.deepEqual([answer.status, answer.json], [200, json]);
  });

  it('200 by private_key_jwt, once for each assertion', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const agent = await t.agent({ allowedScopes });
    const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }];
    await operate('PUT', `/agents/${agent.agentId}/keys`, { keys });
    const assertionFor = (audience: string) =>
      new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid: 'k' })
        .setIssuer(agent.agentId)
        .setSubject(agent.agentId)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign(privateKey);
    const fieldsFor = async (audience: string) => ({
      token,
      client_assertion_type: assertionType,
      client_assertion: await assertionFor(audience),
    });
    for (const audience of ['http://countersign.test', 'http://countersign.test/api/v1/token']) {
      const fields = await fieldsFor(audience);
      const first = await ask(fields);
      assert.deepEqual([first.status, first.json.active], [200, true], first.text);
      assertRefused(await ask(fields), /used before/);
    }
    assertRefused(await ask(await fieldsFor(`http://countersign.test${url}`)), /authentication failed/);
  });

  it('200 {active:false} for a token of another organization; an operator sees it', async () => {
    const other = await t.agent({ allowedScopes, organization_id: await organization() });
    const foreign = await t.token(undefined, other);
    assert.deepEqual((await asClient(server, foreign)).json, { active: false });
    const operator = { ...t.operator, agentId: t.operator.clientId };
    assert.equal((await asClient(operator, foreign)).json.active, true);
  });

  it('400 VALIDATION_ERROR for a request without token or with a repeated field', async () => {
    const missing = await ask({}, basic(server));
    assert.deepEqual([missing.status, missing.json.code], [400, 'VALIDATION_ERROR']);
    const payload = `token=x&client_id=${server.clientId}&client_secret=a&client_secret=b`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const twice = await t.call('POST', url, { payload, headers });
    assert.deepEqual([twice.status, twice.json.code], [400, 'VALIDATION_ERROR']);
    assert.match(twice.text, /client_secret/);
  });

  it('401 UNAUTHORIZED alike for an unknown client, a wrong secret and a malformed header', async () => {
    const wrong = [
      await asClient({ ...server, clientSecret: 'wrong' }, token),
      await inBody({ ...server, clientSecret: 'wrong' }, token),
      await inBody({ ...server, clientSecret: '' }, token),
      await asClient({ ...server, clientId: crypto.randomUUID() }, token),
      await asClient({ ...server, clientId: 'no-uuid' }, token),
    ];
    for (const answer of wrong) assertRefused(answer, /^Client authentication failed: check/);
    for (const authorization of ['Basic', 'Basic %%%', 'Basic eA=='])
      assertRefused(await ask({ token }, { authorization }), /cannot be read/);
  });

  it('401 UNAUTHORIZED with both challenges for a request without credentials', async () => {
    for (const fields of [{ token }, { token, client_id: server.clientId }, { token, client_secret: 'x' }]) {
      const { status, json, headers } = await ask(fields);
      assert.deepEqual([status, json.code], [401, 'UNAUTHORIZED']);
      const challenges = `Bearer scope="tokens:read", resource_metadata="${metadata}", Basic realm="countersign"`;
      assert.equal(headers['www-authenticate'], challenges);
    }
  });

  it('401 UNAUTHORIZED for two proofs at once', async () => {
    const own = await t.token(undefined, server);
    const fields = { token, client_id: server.clientId, client_secret: server.clientSecret };
    assertRefused(await ask(fields, { authorization: `Bearer ${own}` }), /^Send one proof/);
    assertRefused(await ask(fields, basic(server)), /^Send one proof/);
    const { status } = await ask({ token, client_id: server.clientId }, { authorization: `Bearer ${own}` });
    assert.equal(status, 200, 'a client id alone is no proof');
  });

  it('403 INSUFFICIENT_SCOPE for a client that may not hold tokens:read', async () => {
    const weak = await t.agent({ allowedScopes: ['agents:read'] });
    const { status, json } = await asClient(weak, token);
    assert.deepEqual([status, json.code], [403, 'INSUFFICIENT_SCOPE']);
    assert.deepEqual(json.details, { required: 'tokens:read', held: ['agents:read'] });
    await operate('PATCH', `/agents/${weak.agentId}`, { allowedScopes: ['tokens:read'] });
    assert.equal((await asClient(weak, token)).status, 200);
  });

  it('403 ORG_SUSPENDED while the organization is suspended', async () => {
    const organizationId = await organization();
    const client = await t.agent({ allowedScopes, organization_id: organizationId });
    assert.equal((await asClient(client, token)).status, 200);
    await operate('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
    const { status, json } = await asClient(client, token);
    assert.deepEqual([status, json.code], [403, 'ORG_SUSPENDED']);
  });

  it('401 UNAUTHORIZED at other routes: client credentials open this one alone', async () => {
    const { status } = await t.call('GET', '/api/v1/agents', { headers: basic(server) });
    assert.equal(status, 401);
    const fields = { client_id: server.clientId, client_secret: server.clientSecret, token };
    assert.equal((await t.form('/api/v1/token/revoke', fields)).status, 401);
  });
});

describe('client credentials that end', () => {
  const changes: Record<string, (client: Client) => Promise<unknown>> = {
    'after the credential is revoked': async (client) =>
      operate('DELETE', `/agents/${client.agentId}/credentials/${await credentialIdOf(client)}`),
    'after the secret is rotated': async (client) =>
      operate('POST', `/agents/${client.agentId}/credentials/${await credentialIdOf(client)}/rotate`),
    'while the agent is suspended': ({ agentId }) =>
      operate('PATCH', `/agents/${agentId}`, { status: 'suspended' }),
    'after the agent is decommissioned': ({ agentId }) => operate('DELETE', `/agents/${agentId}`),
  };
  for (const [when, change] of Object.entries(changes))
    it(`401 UNAUTHORIZED at once ${when}`, async () => {
      const client = await t.agent({ allowedScopes });
      for (let time = 0; time < 3; time += 1) assert.equal((await asClient(client, token)).status, 200);
      await change(client);
      for (let time = 0; time < 3; time += 1) assert.equal((await asClient(client, token)).status, 401);
      t.clock.advance(61_000);
      assert.equal((await asClient(client, await t.token())).status, 401);
    });

  it('401 UNAUTHORIZED after the credential has expired', async () => {
    const { agentId } = await t.agent({ allowedScopes });
    const expiresAt = new Date(t.clock.now() + 5_000).toISOString();
    const made = (await operate('POST', `/agents/${agentId}/credentials`, { expiresAt })).json;
    assert.equal((await asClient(made, token)).status, 200);
    t.clock.advance(5_000);
    assertRefused(await asClient(made, token), /^Client authentication failed/);
  });
});

describe('an introspection with client credentials', () => {
  it('reads the database once within the cache time', async () => {
    const fresh = await t.token(undefined, server);
    const queries = async () =>
      [
        ...(await t.app.metrics.text()).matchAll(
          /^service_db_query_duration_seconds_count\{operation="(tokens\.[^"]*)"\} (\d+)/gm,
        ),
      ].map(([, name, count]) => `${name} ${count}`);
    assert.equal((await asClient(server, fresh)).status, 200);
    const before = await queries();
    for (let time = 0; time < 5; time += 1) assert.equal((await inBody(server, fresh)).status, 200);
    assert.deepEqual(await queries(), before);
  });

  it('counts as a use of the credential, as a call of the organization and as an introspection', async () => {
    const organizationId = await organization();
    const client = await t.agent({ allowedScopes, organization_id: organizationId });
    assert.equal((await asClient(client, token)).status, 200);
    const path = `/api/v1/agents/${client.agentId}/credentials`;
    const { data } = (await t.call('GET', path, { token: await t.token() })).json;
    assert.notEqual(data[0].lastUsedAt, null);
    await t.app.usage.flush();
    const counted = await t.sql<{ metric: string; quantity: string }>(
      'select metric, quantity::text from usage_days where organization_id = $1 order by metric',
      [organizationId],
    );
    assert.deepEqual(counted, [
      { metric: 'api_calls', quantity: '1' },
      { metric: 'introspections', quantity: '1' },
    ]);
  });

  it('counts in the window of the client; a wrong secret counts for the address only', async () => {
    startOfMinute(t.clock);
    const client = await t.agent({ allowedScopes });
    const remaining = ({ headers }: Answer) => Number(headers['x-ratelimit-remaining']);
    const first = await asClient(client, token);
    const wrong = await asClient({ ...client, clientSecret: 'wrong' }, token);
    const wrongAgain = await asClient({ ...client, clientSecret: 'wrong' }, token);
    const second = await asClient(client, token);
    assert.equal(remaining(first), 499);
    assert.equal(remaining(second), 498);
    assert.equal(remaining(wrong) - remaining(wrongAgain), 1);
  });

  it('records one event for a refusal, in the audit log of the agent', async () => {
    const client = await t.agent({ allowedScopes });
    assert.equal((await asClient({ ...client, clientSecret: 'wrong' }, token)).status, 401);
    const events = await t.sql<{ metadata: object }>(
      "select metadata::jsonb - 'requestId' as metadata from audit_events where agent_id = $1 and action = 'authentication.refused'",
      [client.agentId],
    );
    const reason =
      'client authentication failed: check the client id, and that its secret, key or assertion is current';
    assert.deepEqual(events, [{ metadata: { operation: 'introspectToken', reason } }]);
  });
});
