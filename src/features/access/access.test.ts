import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createTenant } from '../../../test/support/scenarios/plans.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';
import { createTrustClient, ownAudience } from '../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, issuer } = await createTrustClient(t);
const { createDelegation, revoke } = createDelegationClient(t);
const { register, grant, removeGrant, remove } = createGrants(t);

const read = (agentId: string, token = operator) =>
  t.call('GET', `/api/v1/agents/${agentId}/access`, { token });
const accessOf = async (agentId: string, token = operator) => {
  const { status, json, text } = await read(agentId, token);
  assert.equal(status, 200, text);
  return json;
};
const change = async (path: string, payload: object) => {
  const { status, text } = await t.call('PATCH', `/api/v1${path}`, { token: operator, payload });
  assert.equal(status, 200, text);
};
const own = ['agents:read', 'audit:read'];
const nothing = { role: null, own: [], grants: [], delegated: [], trustPolicies: [], truncated: false };

describe('GET /agents/{agentId}/access', () => {
  it('200 everything that the agent can do, and through what', async () => {
    const agent = await t.agent({ allowedScopes: own });
    const { agentId } = agent;
    const giver = await t.agent({ allowedScopes: ['agents:read'] });
    const giverToken = await t.token(undefined, giver);
    const resource = await register();
    await grant(agentId, resource, ['write', 'read']);
    await grant(giver.agentId, resource, ['read', 'delete']);
    const { identifier } = resource;
    const forOwnApi = await createDelegation(giverToken, agent, ['agents:read']);
    const forResource = await createDelegation(giverToken, agent, ['read', 'delete'], {
      resource: [identifier],
    });
    const policy = await createPolicy({
      agentId,
      scopes: ['agents:read'],
      resources: [{ identifier, scopes: ['read'] }],
    });
    const { json } = await t.call('GET', `/api/v1/agents/${agentId}/grants`, { token: operator });
    const by = {
      ...{ subjectType: 'agent', subjectId: giver.agentId },
      ...{ delegatorType: 'agent', delegatorId: giver.agentId },
    };
    assert.deepEqual(await accessOf(agentId), {
      agentId,
      active: true,
      inactiveReason: null,
      role: null,
      own,
      grants: json.data,
      delegated: [
        {
          ...{ chainId: forResource.chainId, ...by, audiences: [identifier], scopes: ['read', 'delete'] },
          expiresAt: forResource.expiresAt,
        },
        {
          ...{ chainId: forOwnApi.chainId, ...by, audiences: [ownAudience], scopes: ['agents:read'] },
          expiresAt: forOwnApi.expiresAt,
        },
      ],
      trustPolicies: [
        {
          ...{ policyId: policy.policyId, name: policy.name, issuer: issuer.url, subject: policy.subject },
          scopes: ['agents:read'],
          resources: [{ identifier, scopes: ['read'] }],
          actsAsAdmin: false,
        },
      ],
      truncated: false,
    });
    assert.deepEqual(json.data[0].scopes, ['read', 'write']);
    const upperCase = await accessOf(agentId.toUpperCase());
    assert.equal(upperCase.agentId, agentId);
    assert.equal(upperCase.grants.length, 1);
  });

  it('200 the role in its organization, which a change of role changes', async () => {
    const { organizationId, agentId } = await createTenant(t);
    const members = `/organizations/${organizationId}/members`;
    const payload = { agentId, role: 'admin' };
    await t.call('POST', `/api/v1${members}`, { token: operator, payload });
    assert.equal((await accessOf(agentId)).role, 'admin');
    await change(`${members}/${agentId}`, { role: 'member' });
    assert.equal((await accessOf(agentId)).role, 'member');
  });

  it('200 the scopes of a chain with several links: those that all lend and the subject holds', async () => {
    const giver = await t.agent({ allowedScopes: own });
    const [middle, last] = [await t.agent({ allowedScopes: [] }), await t.agent({ allowedScopes: [] })];
    const resource = await register();
    const named = { resource: [resource.identifier] };
    await grant(giver.agentId, resource, ['read', 'write']);
    const first = await createDelegation(await t.token(undefined, giver), middle, ['read', 'write'], {
      ...named,
      allowRedelegation: true,
    });
    // A chain of a resource is passed on with the token of the link and the agent's own.
    await change(`/agents/${middle.agentId}`, { allowedScopes: ['agents:read'] });
    const second = await createDelegation(await t.token(undefined, middle), last, ['write'], {
      ...named,
      parentToken: first.delegationToken,
    });
    const [received, ...others] = (await accessOf(last.agentId)).delegated;
    assert.deepEqual(others, []);
    assert.deepEqual(
      [received.chainId, received.subjectId, received.delegatorId, received.scopes],
      [second.chainId, giver.agentId, middle.agentId, ['write']],
    );
    await grant(giver.agentId, resource, ['read']);
    assert.deepEqual((await accessOf(last.agentId)).delegated[0].scopes, []);
    await revoke(operator, first.chainId);
    assert.deepEqual((await accessOf(last.agentId)).delegated, []);
    assert.deepEqual((await accessOf(middle.agentId)).delegated, []);
  });

  it('200 without the resources of an organization that is suspended or deleted', async () => {
    const { organizationId } = await createTenant(t);
    const resource = await register({ organizationId });
    const agent = await t.agent({ allowedScopes: own });
    const giver = await t.agent({ allowedScopes: own });
    for (const { agentId } of [agent, giver]) await grant(agentId, resource, ['read']);
    const { identifier } = resource;
    await createDelegation(await t.token(undefined, giver), agent, ['read'], { resource: [identifier] });
    await createPolicy({ agentId: agent.agentId, resources: [{ identifier, scopes: ['read'] }] });
    const shown = async () => {
      const { grants, delegated, trustPolicies } = await accessOf(agent.agentId);
      return [grants.length, delegated[0].scopes, trustPolicies[0].resources.length];
    };
    assert.deepEqual(await shown(), [1, ['read'], 1]);
    await change(`/organizations/${organizationId}`, { status: 'suspended' });
    assert.deepEqual(await shown(), [0, [], 0]);
    await change(`/organizations/${organizationId}`, { status: 'active' });
    assert.deepEqual(await shown(), [1, ['read'], 1]);
    await t.call('DELETE', `/api/v1/organizations/${organizationId}`, { token: operator });
    assert.deepEqual(await shown(), [0, [], 0]);
  });

  it('200 shows narrowing and removal at once', async () => {
    const agent = await t.agent({ allowedScopes: own });
    const { agentId } = agent;
    const giver = await t.agent({ allowedScopes: own });
    const giverToken = await t.token(undefined, giver);
    const [resource, other] = [await register(), await register()];
    for (const each of [resource, other])
      for (const holder of [agent, giver]) await grant(holder.agentId, each, ['read', 'write']);
    const { chainId } = await createDelegation(giverToken, agent, own);
    await createDelegation(giverToken, agent, ['read', 'write'], { resource: [resource.identifier] });
    const entries = [resource, other].map(({ identifier }) => ({ identifier, scopes: ['read', 'write'] }));
    const policy = await createPolicy({ agentId, resources: entries });
    const scopes = async () => {
      const { own: held, grants, delegated, trustPolicies } = await accessOf(agentId);
      return {
        own: held,
        grants: Object.fromEntries(
          grants.map((each: { identifier: string; scopes: string[] }) => [each.identifier, each.scopes]),
        ),
        delegated: delegated.map((each: { scopes: string[] }) => each.scopes),
        policies: trustPolicies.map(
          ({ scopes: given, resources }: { scopes: unknown; resources: unknown }) => ({
            given,
            resources,
          }),
        ),
      };
    };
    await change(`/agents/${agentId}`, { allowedScopes: ['audit:read'] });
    await change(`/agents/${giver.agentId}`, { allowedScopes: ['agents:read'] });
    await grant(agentId, resource, ['write']);
    await grant(giver.agentId, resource, ['read']);
    assert.deepEqual(await scopes(), {
      own: ['audit:read'],
      grants: { [resource.identifier]: ['write'], [other.identifier]: ['read', 'write'] },
      delegated: [['read'], ['agents:read']],
      policies: [
        {
          given: ['audit:read'],
          resources: [
            { identifier: resource.identifier, scopes: ['write'] },
            { identifier: other.identifier, scopes: ['read', 'write'] },
          ],
        },
      ],
    });
    await removeGrant(agentId, resource);
    await remove(other);
    await removeGrant(giver.agentId, resource);
    await revoke(giverToken, chainId);
    assert.deepEqual(await scopes(), {
      own: ['audit:read'],
      grants: {},
      delegated: [[]],
      policies: [{ given: ['audit:read'], resources: [] }],
    });
    await change(`/oidc/trust-policies/${policy.policyId}`, { status: 'disabled', scopes: ['audit:read'] });
    assert.deepEqual((await scopes()).policies, []);
    t.clock.advance(3_600_000);
    assert.deepEqual((await accessOf(agentId, await t.token())).delegated, []);
    t.clock.advance(-3_600_000);
  });

  it('200 nothing for an agent that is not active, and for one whose organization is not', async () => {
    const tenant = await createTenant(t);
    const { agentId, organizationId } = tenant;
    const resource = await register();
    await grant(agentId, resource, ['read']);
    await createPolicy({ agentId });
    const members = `/api/v1/organizations/${organizationId}/members`;
    await t.call('POST', members, { token: operator, payload: { agentId, role: 'admin' } });
    const before = await accessOf(agentId);
    assert.equal(before.grants.length, 1);
    const inactive = async (inactiveReason: string) =>
      assert.deepEqual(await accessOf(agentId), { agentId, active: false, inactiveReason, ...nothing });
    await change(`/agents/${agentId}`, { status: 'suspended' });
    await inactive('the agent is suspended');
    await change(`/agents/${agentId}`, { status: 'active' });
    assert.deepEqual(await accessOf(agentId), before);
    await change(`/organizations/${organizationId}`, { status: 'suspended' });
    await inactive('the organization is suspended');
    await change(`/organizations/${organizationId}`, { status: 'active' });
    assert.deepEqual(await accessOf(agentId), before);
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operator });
    await inactive('the agent is decommissioned');
  });

  it('200 at most 100 entries of a list, the newest, and says that there are more', async () => {
    const { agentId } = await createTenant(t);
    const insert = (count: number) =>
      t.sql(
        `with made as (
           insert into resources (resource_id, organization_id, identifier, name, scopes, token_lifetime_seconds, claims,
             created_at, updated_at)
           select gen_random_uuid(), organization_id, 'https://' || gen_random_uuid() || '.example', 'API',
             '[{"name": "read", "description": null}]', 3600, '{}', now(), now()
           from agents, generate_series(1, $2::int) where agent_id = $1
           returning resource_id, organization_id)
         insert into resource_grants (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
         select $1, resource_id, organization_id, '{"read": "2020-01-01T00:00:00.000Z"}', $1, now(), now() from made`,
        [agentId, count],
      );
    const shown = async () => {
      const { grants, truncated } = await accessOf(agentId);
      return [grants.length, truncated];
    };
    await insert(100);
    assert.deepEqual(await shown(), [100, false]);
    await insert(1);
    assert.deepEqual(await shown(), [100, true]);
  });

  it('200 with a number of queries that does not grow with the number of entries', async () => {
    const agent = await t.agent({ allowedScopes: own });
    const giver = await t.agent({ allowedScopes: own });
    const giverToken = await t.token(undefined, giver);
    /** Of resources: how often grants were read. */
    const reads = async () => {
      const text = await t.app.metrics.text();
      const counts = text.matchAll(
        /^service_db_query_duration_seconds_count\{operation="resources\.findAgentGrants?"\} (\d+)/gm,
      );
      return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
    };
    const add = async () => {
      const resource = await register();
      const { identifier } = resource;
      for (const { agentId } of [agent, giver]) await grant(agentId, resource, ['read']);
      await createDelegation(giverToken, agent, ['read'], { resource: [identifier] });
      await createPolicy({ agentId: agent.agentId, resources: [{ identifier, scopes: ['read'] }] });
    };
    for (let n = 0; n < 3; n++) await add();
    const before = await reads();
    const { delegated, trustPolicies } = await accessOf(agent.agentId);
    assert.deepEqual([delegated.length, trustPolicies.length], [3, 3]);
    assert.equal((await reads()) - before, 2, 'once for the delegations and once for the policies');
  });

  it("404 AGENT_NOT_FOUND for an unknown agent and another organization's", async () => {
    const tenant = await createTenant(t);
    const { agentId } = await t.agent();
    for (const id of [agentId, randomUUID()]) {
      const { status, json } = await read(id, tenant.token);
      assert.deepEqual([status, json.code], [404, 'AGENT_NOT_FOUND']);
    }
    assert.equal((await accessOf(tenant.agentId, tenant.token)).active, true);
    assert.equal((await read(randomUUID())).status, 404);
  });

  it('400 VALIDATION_ERROR for a malformed id; 401 without a token; 403 INSUFFICIENT_SCOPE without agents:read', async () => {
    assert.equal((await read('nonsense')).json.code, 'VALIDATION_ERROR');
    const { agentId } = await t.agent();
    assert.equal((await t.call('GET', `/api/v1/agents/${agentId}/access`)).status, 401);
    const refused = await read(agentId, await t.token('audit:read'));
    assert.deepEqual([refused.status, refused.json.code], [403, 'INSUFFICIENT_SCOPE']);
  });
});
