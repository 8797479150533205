import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../../test/support/harness.ts';
import { createTenant, insertTokenUsage } from '../../../../test/support/scenarios/plans.ts';
import { createGrants } from '../../../../test/support/scenarios/resources/grants.ts';

const t = await startApp();
const operator = await t.token();
const { register, grant, remove } = createGrants(t);
const send = (payload: object, token = operator) =>
  t.call('POST', '/api/v1/tokens/preview', { token, payload });
const preview = async (payload: object) => {
  const { status, json, text } = await send(payload);
  assert.equal(status, 200, text);
  return json;
};

interface Client {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}
const ask = ({ clientId, clientSecret }: Client, more: Record<string, string> = {}) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...more,
  });

/** The preview says what the token endpoint then does. */
async function assertAgrees(client: Client, fields: Record<string, string> = {}) {
  const told = await preview({ agentId: client.agentId, ...fields });
  const { json } = await ask(client, fields);
  if (told.allowed) {
    const { iat: issuedAt = 0, exp: expiresAt = 0, jti, ...claims } = decodeJwt(json.access_token);
    const { iat, exp, ...previewed } = told.claims;
    assert.deepEqual(previewed, { ...claims, jti: null, credential_id: null });
    assert.equal(exp - iat, expiresAt - issuedAt);
    assert.ok(Math.abs(iat - issuedAt) <= 2);
  } else {
    assert.deepEqual(told, { allowed: false, error: json.error, reason: json.error_description });
  }
  return told;
}

describe('POST /tokens/preview', () => {
  it('200 with the claims that the token endpoint gives, for our own API and for a resource', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const resource = await register({ claims: ['owner', 'version'], tokenLifetimeSeconds: 60 });
    await grant(agent.agentId, resource, ['read', 'write']);
    const { identifier } = resource;
    for (const fields of [
      {},
      { scope: 'audit:read' },
      { resource: 'http://countersign.test/' },
      { resource: identifier },
      { resource: identifier, scope: 'write' },
      { resource: 'https://unregistered.example/' },
      { resource: '', scope: '' },
    ] as Record<string, string>[])
      assert.equal((await assertAgrees(agent, fields)).allowed, true, JSON.stringify(fields));
  });
  it('200 with the error and the reason that the token endpoint gives', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    const resource = await register();
    const { identifier } = resource;
    const refused = async (fields: Record<string, string>, error: string) =>
      assert.equal((await assertAgrees(agent, fields)).error, error);
    await refused({ resource: identifier }, 'invalid_target');
    await grant(agent.agentId, resource, ['read']);
    await refused({ resource: identifier, scope: 'write' }, 'invalid_scope');
    await refused({ scope: 'audit:read' }, 'unsupported_grant_type');
    await refused({ resource: 'tools' }, 'unsupported_grant_type');
    await remove(resource);
    await refused({ resource: identifier }, 'invalid_target');
    const path = `/api/v1/agents/${agent.agentId}`;
    await t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } });
    await refused({}, 'unauthorized_client');
  });
  it('200 says that the owner of the resource is not active, to holders of a grant only', async () => {
    const { organizationId } = await createTenant(t);
    const resource = await register({ organizationId });
    const [holder, other] = [await t.agent(), await t.agent()];
    await grant(holder.agentId, resource, ['read']);
    const path = `/api/v1/organizations/${organizationId}`;
    await t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } });
    const request = { resource: resource.identifier };
    assert.deepEqual(await preview({ agentId: holder.agentId, ...request }), {
      allowed: false,
      error: 'invalid_target',
      reason: 'the organization that owns the API is not active',
    });
    assert.match((await ask(holder, request)).json.error_description, /there is no grant/);
    assert.match((await assertAgrees(other, request)).reason, /there is no grant/);
  });
  it('200 says that the quota of the plan is used up, and takes none of it', async () => {
    const tenant = await createTenant(t);
    for (let n = 0; n < 3; n++) await preview({ agentId: tenant.agentId });
    const used = await t.sql('select sum(tokens) as used from token_hours where organization_id = $1', [
      tenant.organizationId,
    ]);
    assert.equal(Number(used[0]?.used), 1, 'the token of the tenant itself');
    await insertTokenUsage(t.sql, tenant, 999, t.clock.now());
    const told = await assertAgrees(tenant);
    assert.equal(told.error, 'unauthorized_client');
  });
  it('200 issues nothing, and records nothing but the call', async () => {
    const { agentId, token } = await createTenant(t);
    const count = async () => (await t.sql('select count(*) as n from audit_events'))[0]?.n;
    const before = await count();
    for (const fields of [{}, { scope: 'nothing' }])
      assert.equal((await send({ agentId, ...fields }, token)).status, 200);
    assert.equal(await count(), before);
    const { api_calls, tokens_issued } = (await t.call('GET', '/api/v1/usage', { token })).json.totals;
    assert.deepEqual(
      [api_calls, tokens_issued],
      [3, 1],
      'two previews and this call; the token of the caller',
    );
  });
  it("404 AGENT_NOT_FOUND for an unknown agent and another organization's; 403 without agents:read", async () => {
    const { token } = await createTenant(t);
    const { agentId } = await t.agent();
    for (const id of [agentId, crypto.randomUUID()]) {
      const { status, json } = await send({ agentId: id }, token);
      assert.deepEqual([status, json.code], [404, 'AGENT_NOT_FOUND']);
    }
    assert.equal((await send({ agentId }, await t.token('audit:read'))).status, 403);
  });
  it('400 VALIDATION_ERROR for a bad body', async () => {
    const { agentId } = await t.agent();
    for (const body of [
      {},
      { agentId: 'x' },
      { agentId, more: true },
      { agentId, scope: 5 },
      { agentId, resource: ['https://a.example'] },
      { agentId, resource: `https://${'a'.repeat(1100)}` },
    ])
      assert.equal((await send(body)).json.code, 'VALIDATION_ERROR', JSON.stringify(body));
  });
});
