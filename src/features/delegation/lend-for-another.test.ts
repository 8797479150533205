/** An admin lends the scopes of another agent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { startSignInProvider } from '../../../test/support/peers/sign-in-provider.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { callback, createPeopleScenario } from '../../../test/support/scenarios/people.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';

const baseUrl = 'https://countersign.test';
const provider = await startSignInProvider([baseUrl + callback]);
const t = await startApp({
  BASE_URL: baseUrl,
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  ...provider.variables,
});
const { delegate, redeem, revoke } = createDelegationClient(t);
const operator = await t.token();
const send = (method: 'POST' | 'PUT' | 'PATCH' | 'GET', path: string, payload?: object) =>
  t.call(method, `/api/v1${path}`, { token: operator, ...(payload && { payload }) });

const member = (agentId: string, role: 'admin' | 'member') =>
  send('POST', `/organizations/${t.operator.organizationId}/members`, { agentId, role });

const [lender, taker] = [
  await t.agent({ allowedScopes: ['agents:read', 'audit:read'] }),
  await t.agent({ allowedScopes: [] }),
];
const admin = await t.agent({ allowedScopes: ['agents:read', 'agents:write', 'audit:read'] });
await member(admin.agentId, 'admin');
const adminToken = await t.token(undefined, admin);
const wanted = { delegatorId: lender.agentId, delegateeId: taker.agentId, scopes: ['audit:read'] };

describe('POST /delegations with delegatorId', () => {
  it('201 a chain of the other agent; the log names the lender and who did it, and the admin can end it', async () => {
    const { status, json, text } = await delegate(adminToken, wanted);
    assert.equal(status, 201, text);
    assert.deepEqual([json.subjectId, json.delegatorId, json.depth], [lender.agentId, lender.agentId, 1]);
    const { sub, act, scope } = decodeJwt<{ act: { sub: string }; scope: string }>(await redeem(taker, json));
    assert.deepEqual([sub, act.sub, scope], [lender.agentId, taker.agentId, 'audit:read']);
    const [event] = (await send('GET', '/audit?action=delegation.created&limit=1')).json.data;
    assert.deepEqual([event.metadata.delegatorId, event.metadata.actorId], [lender.agentId, admin.agentId]);
    assert.equal((await revoke(adminToken, json.chainId)).status, 204);
  });

  it('201 an operator lends what the agent holds, also of an API, and never more', async () => {
    const { json: api } = await send('POST', '/resources', {
      identifier: 'https://lent.example',
      name: 'Lent',
      scopes: [{ name: 'read' }, { name: 'write' }],
    });
    await send('PUT', `/agents/${lender.agentId}/grants/${api.resourceId}`, { scopes: ['read'] });
    const ofApi = (scopes: string[]) =>
      delegate(operator, { ...wanted, scopes, resource: ['https://lent.example'] });
    assert.equal((await ofApi(['read'])).status, 201);
    const { status, json } = await ofApi(['read', 'write']);
    assert.deepEqual(
      [status, json.code, json.details.exceeded],
      [403, 'DELEGATION_SCOPE_EXCEEDED', ['write']],
    );
    const own = await delegate(operator, { ...wanted, scopes: ['agents:write'] });
    assert.deepEqual([own.status, own.json.code], [403, 'DELEGATION_SCOPE_EXCEEDED']);
    // The admin has no grant itself, and may make every grant of its organization.
    const byAdmin = await delegate(adminToken, {
      ...wanted,
      scopes: ['read'],
      resource: ['https://lent.example'],
    });
    assert.equal(byAdmin.status, 201, byAdmin.text);
  });

  it('403 FORBIDDEN without the role admin, without agents:write, and for an agent with more than the caller has', async () => {
    const plain = await t.agent({ allowedScopes: ['agents:read', 'agents:write', 'audit:read'] });
    const reading = await t.token('agents:read audit:read', admin);
    const strong = await t.agent({ allowedScopes: ['audit:read', 'webhooks:write'] });
    const cases: [what: string, token: string, changes: object, message: RegExp][] = [
      ['no role', await t.token(undefined, plain), {}, /role admin/],
      ['no scope', reading, {}, /agents:write/],
      ['a stronger agent', adminToken, { delegatorId: strong.agentId }, /webhooks:write/],
      ["an operator's agent", adminToken, { delegatorId: t.operator.clientId }, /operator's agent/],
    ];
    for (const [what, token, changes, message] of cases) {
      const { status, json } = await delegate(token, { ...wanted, ...changes });
      assert.deepEqual([status, json.code], [403, 'FORBIDDEN'], what);
      assert.match(json.message, message, what);
    }
  });

  it('403 FORBIDDEN for a delegated caller', async () => {
    const lent = await delegate(adminToken, {
      delegateeId: taker.agentId,
      scopes: ['agents:write', 'audit:read'],
    });
    const borrowed = await redeem(taker, lent.json);
    const { status, json } = await delegate(borrowed, { ...wanted, delegateeId: admin.agentId });
    assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
    assert.match(json.message, /its own agent only/);
  });

  it('403 FORBIDDEN for a token by a trust policy, also of an admin', async () => {
    const { createPolicy, exchange } = await createTrustClient(t);
    const scopes = ['agents:read', 'agents:write', 'audit:read'];
    const policy = await createPolicy({ agentId: admin.agentId, scopes, actsAsAdmin: true });
    const { access_token } = (await exchange(await policy.sign(), { client_id: admin.agentId })).json;
    const { status, json } = await delegate(access_token, wanted);
    assert.deepEqual([status, json.code], [403, 'FORBIDDEN']);
    assert.match(json.message, /its own agent only/);
  });

  it('201 for a person with the role admin, and 403 FORBIDDEN for a viewer', async () => {
    const { invite, signedIn } = await createPeopleScenario(t, provider, baseUrl);
    const lendAs = async (role: 'admin' | 'viewer') => {
      const { person } = await invite({ role }, t.operator.organizationId);
      const browser = await signedIn(person);
      return browser.change('POST', '/console/api/v1/delegations', wanted);
    };
    const lent = await lendAs('admin');
    assert.deepEqual([lent.status, lent.json.delegatorId], [201, lender.agentId], lent.text);
    const refused = await lendAs('viewer');
    assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN']);
    assert.match(refused.json.message, /viewer/);
  });

  it('201 for a lender with the role admin, which is not lent', async () => {
    const chief = await t.agent({ allowedScopes: ['audit:read'] });
    await member(chief.agentId, 'admin');
    const { status, json, text } = await delegate(adminToken, { ...wanted, delegatorId: chief.agentId });
    assert.equal(status, 201, text);
    const people = `/api/v1/organizations/${t.operator.organizationId}/people`;
    const borrowed = await redeem(taker, json);
    assert.equal((await t.call('GET', people, { token: borrowed })).status, 403);
  });

  it('404 AGENT_NOT_FOUND for an unknown agent, and one of another organization', async () => {
    const { organizationId } = (await send('POST', '/organizations', { name: 'Far', slug: 'far-away' })).json;
    const far = await t.agent({ organization_id: organizationId });
    for (const delegatorId of [crypto.randomUUID(), far.agentId]) {
      const { status, json } = await delegate(adminToken, { ...wanted, delegatorId });
      assert.deepEqual([status, json.code], [404, 'AGENT_NOT_FOUND']);
    }
    // An operator sees it, and a delegation stays in one organization.
    const { json } = await delegate(operator, { ...wanted, delegatorId: far.agentId });
    assert.equal(json.code, 'AGENT_NOT_FOUND');
  });

  it('409 AGENT_NOT_ACTIVE for a suspended lender', async () => {
    const resting = await t.agent({ allowedScopes: ['audit:read'] });
    await send('PATCH', `/agents/${resting.agentId}`, { status: 'suspended' });
    const { json } = await delegate(adminToken, { ...wanted, delegatorId: resting.agentId });
    assert.equal(json.code, 'AGENT_NOT_ACTIVE');
    assert.match(json.message, /The delegator is suspended/);
  });

  it('400 for the delegator as delegatee, and with a parentToken', async () => {
    const self = await delegate(adminToken, { ...wanted, delegateeId: lender.agentId });
    assert.deepEqual([self.status, self.json.details.fields[0].field], [400, 'delegateeId']);
    const parent = await delegate(adminToken, { ...wanted, parentToken: 'x' });
    assert.deepEqual([parent.status, parent.json.details.fields[0].field], [400, 'parentToken']);
  });

  it('400 for a public client and a client by a metadata document: only a person lets them act', async () => {
    const grants = { allowedScopes: ['audit:read'] };
    const open = await t.agent({ ...grants, publicClient: true, redirectUris: ['https://app.example/back'] });
    const document = await t.agent(grants);
    await t.sql('update agents set client_uri = $1 where agent_id = $2', [
      'https://app.example/client.json',
      document.agentId,
    ]);
    for (const { agentId } of [open, document])
      for (const token of [adminToken, operator]) {
        const { status, json } = await delegate(token, { ...wanted, delegatorId: agentId });
        assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
        assert.equal(json.details.fields[0].field, 'delegatorId');
        assert.match(json.message, /consent/);
      }
  });

  it('201 the own agent by its id is as without it', async () => {
    const { status, json } = await delegate(adminToken, { ...wanted, delegatorId: admin.agentId });
    assert.deepEqual([status, json.delegatorId], [201, admin.agentId]);
  });
});
