/** A trust policy is a ceiling: its tokens have the scopes, resources and role that it names, and cannot change their own agent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { newAgent, startApp } from '../../../../test/support/harness.ts';
import {
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../../test/support/scenarios/delegations.ts';
import {
  createLastingChanges,
  newPolicy,
  policies,
} from '../../../../test/support/scenarios/lasting-changes.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
  type TestAgent,
} from '../../../../test/support/scenarios/resources/resources.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';
import { scopes as everyScope, organizationScopes } from '../../../contract/scopes.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '100000' });
const { operator, createPolicy, exchange, patch } = await createTrustClient(t);
const { call, agentIn, tenant, resource, grant } = createResourceClient(t);
const { createDelegation } = createDelegationClient(t);
const owner = await tenant();
const home = owner.organizationId;
const orders = await resource(owner);
const admin = await agentIn(home, allTenantScopes, 'admin');
const plain = await agentIn(home, allTenantScopes);
const lastingChanges = createLastingChanges(t, owner, orders.resourceId);

/** A policy of the agent, and a token by it. */
const workloadOf = async ({ agentId }: Pick<TestAgent, 'agentId'>, changes: Record<string, unknown> = {}) => {
  const policy = await createPolicy({ agentId, scopes: organizationScopes, ...changes });
  const { status, json, text } = await exchange(await policy.sign(), { client_id: agentId });
  assert.equal(status, 200, text);
  return { agentId, policy, token: json.access_token as string };
};

const puppetOf = async (token: string, allowedScopes: readonly string[]) => {
  const payload = newAgent({ organization_id: home, allowedScopes });
  return call('POST', '/agents', token, payload);
};

describe('a token by a trust policy, for its own agent', () => {
  it('403 FORBIDDEN for every change that gives the agent power; a token by a secret of the agent may make it', async () => {
    const agent = await agentIn(home, allTenantScopes, 'admin');
    const { token, policy } = await workloadOf(agent, { scopes: allTenantScopes, actsAsAdmin: true });
    const { policyId: otherId } = await createPolicy({ agentId: agent.agentId, scopes: [] });
    const changes = Object.entries(await lastingChanges(agent.agentId));
    for (const [what, act] of changes)
      for (const policyId of [policy.policyId, otherId])
        assert.equal(outcome(await act(token, policyId)), '403 FORBIDDEN', what);
    for (const [what, act] of changes) {
      const { status, text } = await act(agent.token, otherId);
      assert.ok(status < 300, `${what}: ${text}`);
    }
  });

  it("403 FORBIDDEN for an operator's workload too", async () => {
    const agent = await t.agent({ allowedScopes: everyScope });
    const { token, policy } = await workloadOf(agent, { scopes: everyScope });
    for (const act of [
      () => call('POST', `/agents/${agent.agentId}/credentials`, token),
      () => call('PUT', `/agents/${agent.agentId}/keys`, token, { keys: [] }),
      () => call('POST', policies, token, newPolicy(agent.agentId)),
      () => call('DELETE', `${policies}/${policy.policyId}`, token),
    ])
      assert.equal(outcome(await act()), '403 FORBIDDEN');
  });

  it('204 for ending its own agent: taking everything away gives nothing', async () => {
    const agent = await agentIn(home, organizationScopes);
    const { token } = await workloadOf(agent);
    assert.equal((await call('DELETE', `/agents/${agent.agentId}`, token)).status, 204);
  });
});

describe('a token by a trust policy, for other agents', () => {
  const held = ['agents:read', 'agents:write'];

  it('201 for agents, credentials and policies within the scopes of the token', async () => {
    const { token } = await workloadOf(await agentIn(home), { scopes: held });
    const puppet = await puppetOf(token, held);
    assert.equal(outcome(puppet), '201', puppet.text);
    const { agentId } = puppet.json;
    assert.equal(outcome(await call('POST', `/agents/${agentId}/credentials`, token)), '201');
    assert.equal(outcome(await call('POST', policies, token, newPolicy(agentId))), '201');
  });

  it("403 FORBIDDEN beyond them, though the agent's own scopes reach further", async () => {
    const agent = await agentIn(home);
    const { token } = await workloadOf(agent, { scopes: held });
    assert.equal(outcome(await puppetOf(token, [...held, 'audit:read'])), '403 FORBIDDEN');
    const puppet = (await puppetOf(agent.token, ['audit:read'])).json;
    assert.equal(
      outcome(await call('POST', `/agents/${puppet.agentId}/credentials`, token)),
      '403 FORBIDDEN',
    );
  });

  it("403 FORBIDDEN beyond them for an operator's workload, and within them across organizations", async () => {
    const agent = await t.agent({ allowedScopes: everyScope });
    const { token } = await workloadOf(agent, { scopes: [...held, 'admin:orgs'] });
    const refused = await puppetOf(token, ['audit:read']);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.deepEqual(refused.json.details, { exceeded: ['audit:read'] });
    assert.equal(outcome(await puppetOf(token, held)), '201');
    const path = `/agents/${owner.agentId}/credentials`;
    assert.equal(outcome(await call('POST', path, token)), '403 FORBIDDEN');
    assert.equal(outcome(await call('POST', path, await t.token())), '201');
  });

  it("403 FORBIDDEN for an operator's workload that grants resources which its policy does not name", async () => {
    const agent = await t.agent({ allowedScopes: everyScope });
    const { token } = await workloadOf(agent, { scopes: [...held, 'admin:orgs'] });
    const { agentId } = (await puppetOf(token, [])).json;
    const wanted = ['orders:read'];
    assert.equal(outcome(await grant({ token }, agentId, orders.resourceId, wanted)), '403 FORBIDDEN');
    await grant(owner, agentId, orders.resourceId, wanted);
    assert.equal(outcome(await call('POST', `/agents/${agentId}/credentials`, token)), '403 FORBIDDEN');
  });
});

describe('grants by a token of a trust policy', () => {
  const { resourceId, identifier } = orders;
  const scopes = ['agents:read', 'agents:write'];

  /** The agent holds two scopes of the resource; the policy names one of them. */
  const half = async (more: Record<string, unknown> = {}) => {
    const agent = await agentIn(home);
    await grant(owner, agent.agentId, resourceId, ['orders:read', 'orders:write']);
    const resources = [{ identifier, scopes: ['orders:read'] }];
    return workloadOf(agent, { scopes, resources, ...more });
  };
  const plainAgent = async () => (await agentIn(home, [])).agentId;

  it("200 within the resources of the policy, 403 FORBIDDEN for the rest of the agent's grant", async () => {
    const by = await half();
    const agentId = await plainAgent();
    assert.equal(outcome(await grant(by, agentId, resourceId, ['orders:read'])), '200');
    const refused = await grant(by, agentId, resourceId, ['orders:read', 'orders:write']);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.deepEqual(refused.json.details, { identifier, exceeded: ['orders:write'] });
    assert.match(refused.json.message, /trust policy/);
  });

  it('200 with resources:write in the token, in the owning organization', async () => {
    const by = await half({ scopes: [...scopes, 'resources:write'] });
    assert.equal(outcome(await grant(by, await plainAgent(), resourceId, ['refund'])), '200');
  });

  it('403 FORBIDDEN at once when the policy no longer names the scope, is disabled or deleted', async () => {
    const ends: ((policyId: string) => Promise<unknown>)[] = [
      (policyId) => patch(policyId, { resources: [] }),
      (policyId) => patch(policyId, { status: 'disabled' }),
      (policyId) => call('DELETE', `${policies}/${policyId}`, operator),
    ];
    for (const end of ends) {
      const by = await half();
      assert.equal(outcome(await grant(by, await plainAgent(), resourceId, ['orders:read'])), '200');
      await end(by.policy.policyId);
      assert.equal(
        outcome(await grant(by, await plainAgent(), resourceId, ['orders:read'])),
        '403 FORBIDDEN',
      );
    }
  });

  it('a credential of an agent needs the right to make its grants', async () => {
    const by = await half();
    const credentialFor = async (granted: string) => {
      const agentId = await plainAgent();
      await grant(owner, agentId, resourceId, [granted]);
      return outcome(await call('POST', `/agents/${agentId}/credentials`, by.token));
    };
    assert.equal(await credentialFor('orders:read'), '201');
    assert.equal(await credentialFor('orders:write'), '403 FORBIDDEN');
  });

  it('403 FORBIDDEN for lending scopes of a resource, also those that the policy names', async () => {
    const by = await half();
    const payload = { delegateeId: await plainAgent(), scopes: ['orders:read'], resource: [identifier] };
    assert.equal(outcome(await call('POST', '/delegations', by.token, payload)), '403 FORBIDDEN');
  });
});

describe('actsAsAdmin', () => {
  const members = `/organizations/${home}/members`;

  it('is false by default: a workload of an admin has no such role', async () => {
    const { token, policy } = await workloadOf(admin);
    assert.equal(policy.actsAsAdmin, false);
    const refused = await call('GET', members, token);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /only with actsAsAdmin/);
    const agentId = (await agentIn(home, [])).agentId;
    assert.equal(outcome(await grant({ token }, agentId, orders.resourceId, ['refund'])), '403 FORBIDDEN');
    const adminAgent = await agentIn(home, [], 'admin');
    const path = `/agents/${adminAgent.agentId}/credentials`;
    assert.equal(outcome(await call('POST', path, token)), '403 FORBIDDEN');
  });

  it('gives the role at once and takes it at once', async () => {
    const { token, policy } = await workloadOf(admin, { actsAsAdmin: true });
    assert.equal(outcome(await call('GET', members, token)), '200');
    for (const change of [{ actsAsAdmin: false }, { actsAsAdmin: true, status: 'disabled' }]) {
      await patch(policy.policyId, change);
      assert.equal(outcome(await call('GET', members, token)), '403 FORBIDDEN');
      await patch(policy.policyId, { actsAsAdmin: true, status: 'active' });
      assert.equal(outcome(await call('GET', members, token)), '200');
    }
  });

  it('gives no role that the agent does not have', async () => {
    const { token } = await workloadOf(plain, { actsAsAdmin: true });
    assert.equal(outcome(await call('GET', members, token)), '403 FORBIDDEN');
  });

  it('403 FORBIDDEN without the role admin: to set it, to keep it in a change, and to unset it', async () => {
    const { agentId } = await agentIn(home, []);
    const created = await call('POST', policies, plain.token, newPolicy(agentId, { actsAsAdmin: true }));
    assert.equal(outcome(created), '403 FORBIDDEN');
    assert.match(created.json.message, /role admin/);
    const own = (await call('POST', policies, plain.token, newPolicy(agentId))).json;
    const change = (token: string, id: string, payload: object) =>
      call('PATCH', `${policies}/${id}`, token, payload).then(outcome);
    assert.equal(await change(plain.token, own.policyId, { actsAsAdmin: true }), '403 FORBIDDEN');
    const theirs = (await call('POST', policies, admin.token, newPolicy(agentId, { actsAsAdmin: true })))
      .json;
    assert.equal(theirs.actsAsAdmin, true);
    for (const payload of [{ name: 'Mine' }, { actsAsAdmin: false }])
      assert.equal(await change(plain.token, theirs.policyId, payload), '403 FORBIDDEN');
    assert.equal(await change(plain.token, theirs.policyId, { status: 'disabled' }), '200');
    assert.equal(await change(admin.token, own.policyId, { actsAsAdmin: true }), '200');
  });

  it('403 FORBIDDEN by a workload of an admin, unless its own policy has it', async () => {
    const { agentId } = await agentIn(home, []);
    const wanted = () => newPolicy(agentId, { actsAsAdmin: true });
    const without = await workloadOf(admin);
    assert.equal(outcome(await call('POST', policies, without.token, wanted())), '403 FORBIDDEN');
    const withRole = await workloadOf(admin, { actsAsAdmin: true });
    assert.equal(outcome(await call('POST', policies, withRole.token, wanted())), '201');
  });

  it('is part of the audit events of the policy', async () => {
    const { policy } = await workloadOf(admin, { actsAsAdmin: true });
    const rows = await t.sql<{ actsAsAdmin: boolean }>(
      `select (metadata ->> 'actsAsAdmin')::boolean as "actsAsAdmin" from audit_events
       where action = 'trust_policy.created' and metadata ->> 'policyId' = $1`,
      [policy.policyId],
    );
    assert.deepEqual(rows, [{ actsAsAdmin: true }]);
  });
});

describe('a delegation that a workload redeems', () => {
  it("gives a token that can grant nothing for good, also if the workload's agent may hold more", async () => {
    const agent = await agentIn(home);
    const policy = await createPolicy({ agentId: agent.agentId, scopes: [] });
    const { delegationToken } = await createDelegation(owner.token, agent, [...organizationScopes]);
    const redeemed = await t.askToken({
      grant_type: tokenExchange,
      client_id: agent.agentId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await policy.sign(),
      subject_token: delegationToken,
      subject_token_type: jwtType,
    });
    assert.equal(redeemed.status, 200, redeemed.text);
    const token = redeemed.json.access_token;
    assert.equal(decodeJwt(token).trust_policy_id, policy.policyId);
    const other = await agentIn(home, []);
    assert.equal(outcome(await call('GET', `/agents/${other.agentId}`, token)), '200');
    for (const [what, attempt] of [
      ['agent', () => puppetOf(token, ['agents:read'])],
      ['credential', () => call('POST', `/agents/${other.agentId}/credentials`, token)],
      ['own credential', () => call('POST', `/agents/${agent.agentId}/credentials`, token)],
    ] as const)
      assert.equal(outcome(await attempt()), '403 FORBIDDEN', what);
  });
});
