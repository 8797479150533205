/** The limit of one agent's rate window: who sets it, and where it counts. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { type Answer, newAgent, startApp, startOfMinute } from '../../../test/support/harness.ts';

const t = await startApp({ RATE_LIMIT_PER_MINUTE: '50' });
const operator = await t.token();
const introspection = '/api/v1/token/introspect';
const window = ({ headers }: Answer) => [
  Number(headers['x-ratelimit-limit']),
  Number(headers['x-ratelimit-remaining']),
];
const basic = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) => ({
  'content-type': 'application/x-www-form-urlencoded',
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});
const change = (agentId: string, payload: object, token = operator) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload });

describe('rateLimitPerMinute of an agent', () => {
  it('201 and 200 for an operator, null by default and again', async () => {
    const { json } = await t.call('POST', '/api/v1/agents', { token: operator, payload: newAgent() });
    assert.equal(json.rateLimitPerMinute, null);
    const payload = newAgent({ rateLimitPerMinute: 1_000_000 });
    const made = await t.call('POST', '/api/v1/agents', { token: operator, payload });
    assert.deepEqual([made.status, made.json.rateLimitPerMinute], [201, 1_000_000]);
    const url = `/api/v1/agents/${made.json.agentId}`;
    assert.equal((await t.call('GET', url, { token: operator })).json.rateLimitPerMinute, 1_000_000);
    const { json: changed } = await change(made.json.agentId, { rateLimitPerMinute: null });
    assert.equal(changed.rateLimitPerMinute, null);
    assert.equal((await t.call('GET', url, { token: operator })).json.rateLimitPerMinute, null);
  });

  for (const value of [0, 1_000_001, 1.5, '5', -1])
    it(`400 VALIDATION_ERROR for ${JSON.stringify(value)}`, async () => {
      const payload = newAgent({ rateLimitPerMinute: value });
      const { status, json } = await t.call('POST', '/api/v1/agents', { token: operator, payload });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });

  it('403 FORBIDDEN for all but operators, also for an admin and for the agent itself', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const token = await t.token(undefined, agent);
    const { organizationId } = (await t.call('GET', `/api/v1/agents/${agent.agentId}`, { token })).json;
    const member = await t.call('POST', `/api/v1/organizations/${organizationId}/members`, {
      token: operator,
      payload: { agentId: agent.agentId, role: 'admin' },
    });
    assert.equal(member.status, 201, member.text);
    for (const answer of [
      await change(agent.agentId, { rateLimitPerMinute: 9 }, token),
      await t.call('POST', '/api/v1/agents', {
        token,
        payload: newAgent({ rateLimitPerMinute: 9, allowedScopes: [] }),
      }),
    ])
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN'], answer.text);
    // The present value is no change: `apply` sends whole entries.
    assert.equal((await change(agent.agentId, { rateLimitPerMinute: null }, token)).status, 200);
  });

  it('counts requests with a token against it, at once after a change', async () => {
    startOfMinute(t.clock);
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    const token = await t.token(undefined, agent);
    const read = () => t.call('GET', `/api/v1/agents/${agent.agentId}`, { token });
    assert.deepEqual(window(await read()), [50, 48]);
    assert.equal((await change(agent.agentId, { rateLimitPerMinute: 4 })).status, 200);
    assert.deepEqual(window(await read()), [4, 1]);
    assert.deepEqual(window(await read()), [4, 0]);
    const refused = await read();
    assert.deepEqual([refused.status, refused.json.details.limit], [429, 4]);
    assert.equal((await change(agent.agentId, { rateLimitPerMinute: 70 })).status, 200);
    assert.deepEqual(window(await read()), [70, 64]);
  });

  it('counts introspection with a secret and with a key', async () => {
    startOfMinute(t.clock);
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const client = await t.agent({ allowedScopes: ['tokens:read'], rateLimitPerMinute: 90 });
    await t.call('PUT', `/api/v1/agents/${client.agentId}/keys`, {
      token: operator,
      payload: { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] },
    });
    const payload = new URLSearchParams({ token: operator }).toString();
    const bySecret = await t.call('POST', introspection, { payload, headers: basic(client) });
    assert.deepEqual([bySecret.status, ...window(bySecret)], [200, 90, 89]);
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(client.agentId)
      .setSubject(client.agentId)
      .setAudience('http://countersign.test')
      .setIssuedAt(Math.floor(t.clock.now() / 1_000))
      .setExpirationTime(Math.floor(t.clock.now() / 1_000) + 60)
      .sign(privateKey);
    const byKey = await t.form(introspection, {
      token: operator,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    });
    assert.deepEqual([byKey.status, ...window(byKey)], [200, 90, 88]);
  });

  it('counts at /token, within a minute of a change', async () => {
    startOfMinute(t.clock);
    const client = await t.agent({ allowedScopes: ['agents:read'], rateLimitPerMinute: 2 });
    const ask = () =>
      t.form('/api/v1/token', {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      });
    const [first, second, third] = [await ask(), await ask(), await ask()];
    assert.deepEqual([first.status, ...window(first)], [200, 2, 1]);
    assert.deepEqual([second.status, third.status], [200, 429]);
    await change(client.agentId, { rateLimitPerMinute: 80 });
    t.clock.advance(60_000);
    startOfMinute(t.clock);
    assert.deepEqual(window(await ask()), [80, 79]);
  });

  it('reads nothing more from the database for a request', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read'], rateLimitPerMinute: 90 });
    const token = await t.token(undefined, agent);
    const read = () => t.call('GET', `/api/v1/agents/${agent.agentId}`, { token });
    await read();
    const queries = async () =>
      (await t.app.metrics.text())
        .split('\n')
        .filter((line) =>
          /^service_db_query_duration_seconds_count\{operation="(agents|tokens|organizations)\./.test(line),
        );
    const before = await queries();
    for (let time = 0; time < 3; time += 1) assert.equal((await read()).status, 200);
    assert.deepEqual(await queries(), before);
  });
});
