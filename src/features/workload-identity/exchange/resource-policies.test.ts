/** Trust policies that give scopes of registered resources. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, startApp } from '../../../../test/support/harness.ts';
import {
  createResourceRows,
  type ResourceRow,
} from '../../../../test/support/scenarios/resources/resource-rows.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, exchange, lastRefusal, patch } = await createTrustClient(t);
const { insertResource, setGrant, deleteResource } = createResourceRows(t);
const url = '/api/v1/oidc/trust-policies';
const both = ['orders:read', 'orders:write'];

/** An agent that holds both scopes of a resource, and a policy that gives them. */
const granted = async (given: readonly string[] = both, more: object = {}) => {
  const agent = await t.agent({ allowedScopes: ['agents:read'] });
  const resource = await insertResource([...both, 'orders:delete']);
  await setGrant(agent.agentId, resource, both);
  const resources = [{ identifier: resource.identifier, scopes: given }];
  const policy = await createPolicy({ agentId: agent.agentId, scopes: ['agents:read'], resources, ...more });
  return { agent, resource, policy, resources };
};
const forResource = async (
  policy: { sign(): Promise<string> },
  { identifier }: Pick<ResourceRow, 'identifier'>,
  more: Record<string, string> = {},
) => exchange(await policy.sign(), { resource: identifier, ...more });
const asAssertion = async (policy: { sign(): Promise<string> }, more: Record<string, string>) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await policy.sign(),
    ...more,
  });

function claimsOf({ status, json, text }: Answer) {
  assert.equal(status, 200, text);
  const claims = decodeJwt(json.access_token);
  return { aud: claims.aud, sub: claims.sub, scopes: String(claims.scope).split(' ').filter(Boolean).sort() };
}
function assertRefused({ status, json, text }: Answer, error: string) {
  assert.deepEqual([status, json.error], [400, error], text);
}
function assertInvalid({ status, json, text }: Answer, field: string) {
  assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], text);
  assert.equal(json.details.fields[0].field, field, text);
  return json.details.fields[0].message as string;
}

describe('the resources of a trust policy', () => {
  it('201, 200 stored and shown; without resources an empty list', async () => {
    const { policy, resources } = await granted();
    assert.deepEqual(policy.resources, resources);
    const read = await t.call('GET', `${url}/${policy.policyId}`, { token: operator });
    assert.deepEqual(read.json.resources, resources);
    const listed = await t.call('GET', `${url}?agentId=${policy.agentId}`, { token: operator });
    assert.deepEqual(listed.json.data[0].resources, resources);
    assert.deepEqual((await patch(policy.policyId, { resources: [] })).json.resources, []);
    const changed = await patch(policy.policyId, { resources, scopes: [] });
    assert.deepEqual([changed.json.resources, changed.json.scopes], [resources, []]);
    const [event] = await t.sql<{ metadata: { resources: unknown; changed: unknown } }>(
      "select metadata from audit_events where action = 'trust_policy.updated' order by event_id desc limit 1",
    );
    assert.deepEqual(event?.metadata.resources, resources);
    assert.deepEqual(event?.metadata.changed, ['resources', 'scopes']);
    assert.deepEqual((await createPolicy()).resources, []);
  });

  it('400 VALIDATION_ERROR for scopes that the agent does not hold; the same for an unknown, foreign or deleted resource', async () => {
    const { policy, resource } = await granted();
    const { json: team } = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Team', slug: `team-${randomUUID().slice(0, 12)}`, planTier: 'pro' },
    });
    const foreign = await insertResource(['orders:read'], { organizationId: team.organizationId });
    const deleted = await insertResource(['orders:read']);
    await setGrant(policy.agentId, deleted, ['orders:read']);
    await deleteResource(deleted);
    const attempt = (identifier: string, scopes: string[]) =>
      patch(policy.policyId, { resources: [{ identifier, scopes }] });
    const field = 'resources[0].scopes';
    const message = assertInvalid(
      await attempt(resource.identifier, ['orders:read', 'orders:delete']),
      field,
    );
    assert.match(message, /does not hold orders:delete$/);
    const unknown = assertInvalid(await attempt('https://nothing.example', ['orders:read']), field);
    for (const { identifier } of [foreign, deleted])
      assert.equal(assertInvalid(await attempt(identifier, ['orders:read']), field), unknown);
    const read = await t.call('GET', `${url}/${policy.policyId}`, { token: operator });
    assert.deepEqual(read.json.resources[0].identifier, resource.identifier);
    const { agentId, name, provider, issuer, audiences } = policy;
    const resources = [{ identifier: resource.identifier, scopes: ['orders:delete'] }];
    const payload = {
      agentId,
      name,
      provider,
      issuer,
      audiences,
      subject: randomUUID(),
      scopes: [],
      resources,
    };
    assertInvalid(await t.call('POST', url, { token: operator, payload }), field);
  });

  it('400 VALIDATION_ERROR for malformed entries', async () => {
    const { policy, resource } = await granted();
    const { identifier } = resource;
    const scopes = ['orders:read'];
    const attempts: [unknown, string][] = [
      [
        [
          { identifier, scopes },
          { identifier, scopes: ['orders:write'] },
        ],
        'resources[1].identifier',
      ],
      [[{ identifier: 'http://countersign.test', scopes }], 'resources[0].identifier'],
      [[{ identifier: 'http://countersign.test/', scopes }], 'resources[0].identifier'],
      [[{ identifier: 'nonsense', scopes }], 'resources[0].identifier'],
      [[{ identifier: `https://x.example/${'x'.repeat(512)}`, scopes }], 'resources[0].identifier'],
      [[{ identifier, scopes: [] }], 'resources[0].scopes'],
      [[{ identifier, scopes: ['a b'] }], 'resources[0].scopes[0]'],
      [[{ identifier, scopes: ['orders:read', 'orders:read'] }], 'resources[0].scopes'],
      [[{ identifier }], 'resources[0].scopes'],
      [[{ identifier, scopes, more: 1 }], 'resources[0].more'],
      [Array.from({ length: 11 }, (_, n) => ({ identifier: `https://x.example/${n}`, scopes })), 'resources'],
      [null, 'resources'],
    ];
    for (const [resources, field] of attempts)
      assertInvalid(await patch(policy.policyId, { resources }), field);
  });

  it('200 for other changes when the grant was narrowed: the entry stays', async () => {
    const { policy, agent, resource, resources } = await granted();
    await setGrant(agent.agentId, resource, ['orders:read']);
    const renamed = await patch(policy.policyId, { name: 'Renamed', resources });
    assert.equal(renamed.status, 200, renamed.text);
    assert.deepEqual(renamed.json.resources, resources);
    assertInvalid(
      await patch(policy.policyId, { resources: [{ ...resources[0], scopes: ['orders:write'] }] }),
      'resources[0].scopes',
    );
  });
});

describe('POST /oidc/token with a registered resource', () => {
  it('200 the scopes of the policy that the agent holds, all of them or those requested', async () => {
    const { policy, agent, resource } = await granted();
    assert.deepEqual(claimsOf(await forResource(policy, resource)), {
      aud: resource.identifier,
      sub: agent.agentId,
      scopes: both,
    });
    const one = await forResource(policy, resource, { scope: 'orders:write' });
    assert.deepEqual(claimsOf(one).scopes, ['orders:write']);
    assert.equal(decodeJwt(one.json.access_token).credential_id, null);
    const own = claimsOf(await exchange(await policy.sign()));
    assert.deepEqual([own.aud, own.scopes], ['http://countersign.test', ['agents:read']]);
  });

  it('400 invalid_scope beyond the policy, the grant now, and for scopes of our own API', async () => {
    const { policy, agent, resource } = await granted(['orders:read']);
    for (const scope of ['orders:write', 'agents:read', 'orders:read orders:write'])
      assertRefused(await forResource(policy, resource, { scope }), 'invalid_scope');
    const wide = await granted();
    await setGrant(wide.agent.agentId, wide.resource, ['orders:write', 'orders:delete']);
    assert.deepEqual(claimsOf(await forResource(wide.policy, wide.resource)).scopes, ['orders:write']);
    assertRefused(await forResource(wide.policy, wide.resource, { scope: 'orders:read' }), 'invalid_scope');
    await setGrant(agent.agentId, resource, ['orders:write']);
    assertRefused(await forResource(policy, resource), 'invalid_scope');
    assertRefused(await exchange(await policy.sign(), { scope: 'orders:read' }), 'invalid_scope');
  });

  it('400 invalid_target without an entry, without a grant and for a deleted resource, with the reason in the audit log', async () => {
    const { policy, agent, resource } = await granted();
    const other = await insertResource(['orders:read']);
    await setGrant(agent.agentId, other, ['orders:read']);
    const answers: string[] = [];
    const refused = async (target: ResourceRow, reason: RegExp) => {
      const answer = await forResource(policy, target);
      assertRefused(answer, 'invalid_target');
      answers.push(answer.text);
      const refusal = await lastRefusal();
      assert.match(refusal.reason, reason);
      assert.equal(refusal.agent_id, agent.agentId);
    };
    await refused(other, /does not name/);
    await setGrant(agent.agentId, resource, []);
    await refused(resource, /no grant/);
    await setGrant(agent.agentId, resource, both);
    const token = await policy.sign();
    await deleteResource(resource);
    await refused(resource, /deleted/);
    assert.equal(new Set(answers).size, 1, 'the client learns no reason');
    assertRefused(await exchange(token, { resource: resource.identifier }), 'invalid_target');
    assert.equal((await exchange(token)).status, 200, 'a refusal does not use the token up');
  });

  it('200 with an audience that is not registered, as before; 400 invalid_target with UNREGISTERED_RESOURCES=refuse', async () => {
    const { policy } = await granted();
    const { aud, scopes } = claimsOf(await forResource(policy, { identifier: 'https://sts.example.com' }));
    assert.deepEqual([aud, scopes], ['https://sts.example.com', ['agents:read']]);
    const strict = await startApp({
      WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
      UNREGISTERED_RESOURCES: 'refuse',
    });
    const trust = await createTrustClient(strict);
    const strictPolicy = await trust.createPolicy();
    assertRefused(
      await trust.exchange(await strictPolicy.sign(), { resource: 'https://sts.example.com' }),
      'invalid_target',
    );
    assert.equal((await trust.exchange(await strictPolicy.sign())).status, 200);
  });

  it('200 selects the policy that names the resource, and the one that gives the requested scopes', async () => {
    const subject = `workload-${randomUUID()}`;
    const { agent, resource, policy } = await granted(['orders:read'], { subject });
    const { agentId } = agent;
    const more = { agentId, subject, scopes: ['agents:read'] };
    const entry = (scopes: string[]) => [{ identifier: resource.identifier, scopes }];
    const audiences = ['http://countersign.test', 'https://other.example'];
    await createPolicy({ ...more, audiences, resources: entry(['orders:write']) });
    const second = await forResource(policy, resource, { scope: 'orders:write' });
    assert.deepEqual(claimsOf(second).scopes, ['orders:write']);
    assert.deepEqual(claimsOf(await forResource(policy, resource)).scopes, ['orders:read']);
    await patch(policy.policyId, { resources: [] });
    assert.deepEqual(claimsOf(await forResource(policy, resource)).scopes, ['orders:write']);
  });
});

describe('POST /token with an external token as client assertion, for a registered resource', () => {
  it('200 the same; 400 invalid_scope and invalid_target', async () => {
    const { policy, resource } = await granted(['orders:read']);
    const other = await insertResource(['orders:read']);
    const named = { resource: resource.identifier };
    assert.deepEqual(claimsOf(await asAssertion(policy, named)).scopes, ['orders:read']);
    assertRefused(await asAssertion(policy, { ...named, scope: 'orders:write' }), 'invalid_scope');
    assertRefused(await asAssertion(policy, { resource: other.identifier }), 'invalid_target');
    assertRefused(await asAssertion(policy, { scope: 'orders:read' }), 'unsupported_grant_type');
  });
});

describe('POST /oidc/trust-policies/{policyId}/test', () => {
  it('200 the resources that a matching token gets now', async () => {
    const { policy, agent, resource } = await granted();
    const test = async (token: string) =>
      (await t.call('POST', `${url}/${policy.policyId}/test`, { token: operator, payload: { token } })).json;
    const token = await policy.sign();
    assert.deepEqual((await test(token)).resources, [{ identifier: resource.identifier, scopes: both }]);
    await setGrant(agent.agentId, resource, ['orders:read']);
    assert.deepEqual((await test(token)).resources, [
      { identifier: resource.identifier, scopes: ['orders:read'] },
    ]);
    await setGrant(agent.agentId, resource, []);
    assert.deepEqual((await test(token)).resources, []);
    const { matched, resources } = await test(await policy.sign({ sub: 'another' }));
    assert.deepEqual([matched, resources], [false, []]);
  });
});

describe('a token of a trust policy', () => {
  it('403 FORBIDDEN to lend scopes of a resource, whether the policy names it or not; scopes of our own API can be lent', async () => {
    const { agent, resource, policy } = await granted();
    const other = await createPolicy({ agentId: agent.agentId, scopes: ['agents:read'] });
    const { agentId: delegateeId } = await t.agent();
    for (const each of [policy, other]) {
      const token = (await exchange(await each.sign())).json.access_token;
      const lend = (payload: object) =>
        t.call('POST', '/api/v1/delegations', { token, payload: { delegateeId, ...payload } });
      const refused = await lend({ scopes: ['orders:read'], resource: [resource.identifier] });
      assert.deepEqual([refused.status, refused.json.code], [403, 'FORBIDDEN'], refused.text);
      assert.equal((await lend({ scopes: ['agents:read'] })).status, 201);
    }
  });
});
