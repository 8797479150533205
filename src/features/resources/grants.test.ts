import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { concurrently } from '../../../test/support/scenarios/plans.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
} from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, grant, revoke, grantsOf, events } = createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const owner = await tenant();
const home = owner.organizationId;

const heldBy = async (agentId: string) =>
  (
    await t.sql<{ scopes: Record<string, string> }>(
      'select scopes from resource_grants where agent_id = $1',
      [agentId],
    )
  )[0]?.scopes;

describe('PUT /agents/{agentId}/grants/{resourceId}', () => {
  it('200 with the grant; again without a change and without an event', async () => {
    const agent = await agentIn(home);
    const { resourceId, identifier } = await resource(owner);
    const { status, json } = await grant(owner, agent.agentId, resourceId, ['refund', 'orders:read']);
    assert.equal(status, 200);
    assert.deepEqual(json, {
      agentId: agent.agentId,
      resourceId,
      identifier,
      scopes: ['orders:read', 'refund'],
      grantedBy: owner.agentId,
      createdAt: json.createdAt,
      updatedAt: json.createdAt,
    });
    t.clock.advance(1_000);
    assert.deepEqual(
      (await grant(owner, agent.agentId.toUpperCase(), resourceId, ['orders:read', 'refund'])).json,
      json,
    );
    assert.deepEqual((await call('GET', `/agents/${agent.agentId}/grants`, owner.token)).json.data, [json]);
    assert.deepEqual((await call('GET', `/resources/${resourceId}/grants`, owner.token)).json.data, [json]);
    const own = (await events(home)).filter(
      ({ action, agentId }) => action === 'grant.changed' && agentId === agent.agentId,
    );
    assert.equal(own.length, 1);
    const { requestId: _, ...metadata } = own[0]?.metadata ?? {};
    assert.deepEqual(metadata, {
      agentId: agent.agentId,
      resourceId,
      identifier,
      scopes: ['orders:read', 'refund'],
      actorId: owner.agentId,
    });
  });

  it('a scope that stays keeps the time since when it is held; one that comes back gets a new time', async () => {
    const { agentId } = await agentIn(home);
    const { resourceId } = await resource(owner);
    await grant(owner, agentId, resourceId, ['orders:read', 'refund']);
    const first = await heldBy(agentId);
    t.clock.advance(1_000);
    await grant(owner, agentId, resourceId, ['orders:read']);
    assert.deepEqual(await heldBy(agentId), { 'orders:read': first?.['orders:read'] });
    t.clock.advance(1_000);
    await grant(owner, agentId, resourceId, ['refund', 'orders:read']);
    const last = await heldBy(agentId);
    assert.equal(last?.['orders:read'], first?.['orders:read']);
    assert.ok(Date.parse(last?.refund ?? '') > Date.parse(first?.refund ?? ''));
  });

  it('scopes named as members of every object are scopes like others', async () => {
    const { agentId } = await agentIn(home);
    const { resourceId, identifier } = await resource(owner, {
      scopes: [{ name: 'constructor' }, { name: 'x' }],
    });
    assert.equal(outcome(await grant(owner, agentId, resourceId, ['toString'])), '400 VALIDATION_ERROR');
    await grant(owner, agentId, resourceId, ['constructor']);
    assert.deepEqual(await grantsOf(owner, agentId), { [identifier]: ['constructor'] });
  });

  it('400 VALIDATION_ERROR for no scopes, and for scopes that the resource or the share does not have', async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund']);
    for (const scopes of [[], ['unknown'], ['refund', 'unknown'], ['refund', 'refund']])
      assert.equal(outcome(await grant(owner, owner.agentId, resourceId, scopes)), '400 VALIDATION_ERROR');
    const beyond = await grant(admin, other.agentId, resourceId, ['refund', 'orders:read']);
    assert.equal(outcome(beyond), '400 VALIDATION_ERROR');
    assert.equal(beyond.json.details.fields[0].field, 'scopes[1]');
    assert.deepEqual(await grantsOf(admin, other.agentId), {});
  });

  it('404 AGENT_NOT_FOUND and 404 RESOURCE_NOT_FOUND for foreign and unknown ones', async () => {
    const other = await tenant();
    const { resourceId } = await resource(owner);
    const theirs = await resource(other);
    const scopes = ['refund'];
    assert.equal(outcome(await grant(owner, other.agentId, resourceId, scopes)), '404 AGENT_NOT_FOUND');
    assert.equal(outcome(await grant(owner, randomUUID(), resourceId, scopes)), '404 AGENT_NOT_FOUND');
    for (const foreign of [theirs.resourceId, randomUUID()])
      assert.equal(outcome(await grant(owner, owner.agentId, foreign, scopes)), '404 RESOURCE_NOT_FOUND');
    assert.equal(
      outcome(await call('GET', `/agents/${other.agentId}/grants`, owner.token)),
      '404 AGENT_NOT_FOUND',
    );
    assert.equal(outcome(await revoke(owner, other.agentId, resourceId)), '404 AGENT_NOT_FOUND');
  });

  it('403 AGENT_DECOMMISSIONED; a suspended agent can get grants', async () => {
    const { agentId } = await agentIn(home);
    const { resourceId } = await resource(owner);
    await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
    assert.equal((await grant(owner, agentId, resourceId, ['refund'])).status, 200);
    await call('DELETE', `/agents/${agentId}`, owner.token);
    assert.equal(
      outcome(await grant(owner, agentId, resourceId, ['orders:read'])),
      '403 AGENT_DECOMMISSIONED',
    );
    assert.equal((await revoke(owner, agentId, resourceId)).status, 204);
  });
});

describe('who may grant', () => {
  it('403 FORBIDDEN with agents:write alone, and the message names the ways', async () => {
    const caller = await agentIn(home, ['agents:write', 'resources:read'], 'member');
    const { resourceId } = await resource(owner);
    const refused = await grant(caller, caller.agentId, resourceId, ['refund', 'orders:read']);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.match(
      refused.json.message,
      /scope resources:write, or the role admin .*, or a grant of your own with orders:read, refund/,
    );
    assert.deepEqual(refused.json.details.exceeded, ['orders:read', 'refund']);
    assert.deepEqual(await grantsOf(owner, caller.agentId), {});
    const recorded = await t.sql(
      "select outcome, metadata->>'action' as action from audit_events where action = 'policy.refused' and agent_id = $1",
      [caller.agentId],
    );
    assert.deepEqual(recorded, [{ outcome: 'failure', action: 'resources:grant' }]);
  });

  it('403 INSUFFICIENT_SCOPE with resources:write alone', async () => {
    const caller = await agentIn(home, ['resources:write']);
    const { resourceId } = await resource(owner);
    assert.equal(
      outcome(await grant(caller, caller.agentId, resourceId, ['refund'])),
      '403 INSUFFICIENT_SCOPE',
    );
  });

  it('200 with resources:write in the organization that owns the resource; 403 FORBIDDEN for a shared resource', async () => {
    const other = await tenant();
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund']);
    assert.equal((await grant(owner, owner.agentId, resourceId, ['refund'])).status, 200);
    const refused = await grant(other, other.agentId, resourceId, ['refund']);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.doesNotMatch(refused.json.message, /resources:write/);
  });

  it("200 for an admin of the agent's organization, for own and shared resources", async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, ['agents:write'], 'admin');
    const own = await resource(other);
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund']);
    assert.equal((await grant(admin, other.agentId, resourceId, ['refund'])).status, 200);
    assert.equal((await grant(admin, other.agentId, own.resourceId, ['refund'])).status, 200);
  });

  it('200 for scopes that the caller holds by a grant of its own, and no others', async () => {
    const caller = await agentIn(home, ['agents:write']);
    const { agentId } = await agentIn(home, []);
    const { resourceId } = await resource(owner);
    await grant(owner, caller.agentId, resourceId, ['refund', 'orders:read']);
    assert.equal((await grant(caller, agentId, resourceId, ['refund'])).status, 200);
    const beyond = await grant(caller, agentId, resourceId, ['refund', 'orders:write']);
    assert.equal(outcome(beyond), '403 FORBIDDEN');
    assert.deepEqual(beyond.json.details.exceeded, ['orders:write']);
    await revoke(owner, caller.agentId, resourceId);
    assert.equal(outcome(await grant(caller, agentId, resourceId, ['refund'])), '403 FORBIDDEN');
  });

  it("200 for an operator in every organization; 404 RESOURCE_NOT_FOUND when the agent's organization neither owns the resource nor shares it", async () => {
    const operator = { token: await t.token() };
    const other = await tenant();
    const { resourceId } = await resource(owner);
    assert.equal((await grant(operator, owner.agentId, resourceId, ['refund'])).status, 200);
    assert.equal(
      outcome(await grant(operator, other.agentId, resourceId, ['refund'])),
      '404 RESOURCE_NOT_FOUND',
    );
    await share(owner, resourceId, other.organizationId, ['refund']);
    assert.equal((await grant(operator, other.agentId, resourceId, ['refund'])).status, 200);
    assert.equal(
      outcome(await grant(operator, other.agentId, resourceId, ['orders:read'])),
      '400 VALIDATION_ERROR',
    );
  });

  it('403 FORBIDDEN for a delegated caller, unless its own agent may hold the scopes that granting needs', async () => {
    const { resourceId } = await resource(owner);
    const lender = await agentIn(home, allTenantScopes, 'admin');
    const target = await agentIn(home, []);
    const lent = ['agents:write', 'resources:write'];
    const as = async (own: readonly string[], role?: 'admin') => {
      const agent = await agentIn(home, own, role);
      return { agent, token: await redeem(agent, await createDelegation(lender.token, agent, lent)) };
    };
    for (const caller of [await as([]), await as(['agents:write'], 'admin'), await as(['resources:write'])])
      assert.equal(outcome(await grant(caller, target.agentId, resourceId, ['refund'])), '403 FORBIDDEN');
    const holder = await as(lent);
    assert.equal((await grant(holder, target.agentId, resourceId, ['refund'])).status, 200);
    assert.equal(outcome(await grant(holder, lender.agentId, resourceId, ['refund'])), '403 FORBIDDEN');
    // Taking a grant away is a lasting power too.
    assert.equal(outcome(await revoke(await as([]), target.agentId, resourceId)), '403 FORBIDDEN');
    assert.equal((await revoke(holder, target.agentId, resourceId)).status, 204);
  });
});

describe('DELETE /agents/{agentId}/grants/{resourceId}', () => {
  it('204 and the event grant.removed; then 404 GRANT_NOT_FOUND', async () => {
    const { agentId } = await agentIn(home);
    const { resourceId, identifier } = await resource(owner);
    await grant(owner, agentId, resourceId, ['refund']);
    assert.equal((await revoke(owner, agentId, resourceId)).status, 204);
    assert.equal(outcome(await revoke(owner, agentId, resourceId)), '404 GRANT_NOT_FOUND');
    const [event, ...others] = (await events(home)).filter(
      (each) => each.action === 'grant.removed' && each.agentId === agentId,
    );
    assert.equal(others.length, 0);
    assert.equal(event?.metadata.identifier, identifier);
    assert.deepEqual(event?.metadata.scopes, ['refund']);
  });
});

describe('GET /resources/{resourceId}/grants', () => {
  it("200 with pages of the grants of the caller's own organization; an operator sees all", async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
    const { resourceId } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund']);
    await grant(admin, other.agentId, resourceId, ['refund']);
    await t.sql(
      `with added as (
         insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
                             allowed_scopes, created_at, updated_at)
         select id, $1, id || '@example.com', 'custom', '1.0.0', '{a:b}', 'x', 'production', 'active', '{}', now(), now()
         from (select gen_random_uuid() as id from generate_series(1, 1000)) ids returning agent_id)
       insert into resource_grants (agent_id, resource_id, organization_id, scopes, granted_by, created_at, updated_at)
       select agent_id, $2, $1, '{"refund":"2026-01-01T00:00:00.000Z"}', agent_id, now(), now() from added`,
      [home, resourceId],
    );
    const seen = new Set<string>();
    for (let page = 1; page <= 10; page += 1) {
      const { json } = await call(
        'GET',
        `/resources/${resourceId}/grants?limit=100&page=${page}`,
        owner.token,
      );
      assert.equal(json.total, 1000);
      for (const { agentId } of json.data) seen.add(agentId);
    }
    assert.equal(seen.size, 1000);
    const theirs = (await call('GET', `/resources/${resourceId}/grants`, other.token)).json;
    assert.deepEqual([theirs.total, theirs.data[0].agentId], [1, other.agentId]);
    assert.equal((await call('GET', `/resources/${resourceId}/grants`, await t.token())).json.total, 1001);
    // All of them end in one transaction.
    const scopes = [{ name: 'orders:read' }];
    assert.equal((await call('PATCH', `/resources/${resourceId}`, owner.token, { scopes })).status, 200);
    assert.equal((await call('GET', `/resources/${resourceId}/grants`, owner.token)).json.total, 0);
  });
});

describe('GET /resources/{resourceId}/grants?scope=', () => {
  it('200 with the grants that have the scope; 400 VALIDATION_ERROR for a text that is no scope', async () => {
    const [one, both] = [await agentIn(home), await agentIn(home)];
    const { resourceId } = await resource(owner);
    await grant(owner, one.agentId, resourceId, ['refund']);
    await grant(owner, both.agentId, resourceId, ['refund', 'orders:read']);
    const holders = async (scope: string) => {
      const url = `/resources/${resourceId}/grants?scope=${encodeURIComponent(scope)}`;
      const { json } = await call('GET', url, owner.token);
      assert.equal(json.total, json.data.length);
      return json.data.map(({ agentId }: { agentId: string }) => agentId).sort();
    };
    assert.deepEqual(await holders('refund'), [one.agentId, both.agentId].sort());
    assert.deepEqual(await holders('orders:read'), [both.agentId]);
    assert.deepEqual(await holders('constructor'), []);
    for (const scope of ['', 'a b', '%00', 'x'.repeat(65)]) {
      const answer = await call('GET', `/resources/${resourceId}/grants?scope=${scope}`, owner.token);
      assert.equal(outcome(answer), '400 VALIDATION_ERROR', scope);
    }
  });
});

describe('GET /agents/{agentId}/grants?resourceId=', () => {
  it('200 with the one grant; empty without one; 400 VALIDATION_ERROR for a text that is no id', async () => {
    const { agentId } = await agentIn(home);
    const [held, second, third] = [await resource(owner), await resource(owner), await resource(owner)];
    await grant(owner, agentId, held.resourceId, ['refund']);
    await grant(owner, agentId, second.resourceId, ['orders:read']);
    const ofResource = (resourceId: string) =>
      call('GET', `/agents/${agentId}/grants?resourceId=${resourceId}`, owner.token);
    const { json } = await ofResource(held.resourceId);
    assert.deepEqual([json.total, json.data.length, json.data[0].scopes], [1, 1, ['refund']]);
    assert.equal((await ofResource(third.resourceId)).json.total, 0);
    for (const resourceId of ['', 'x', '%00'])
      assert.equal(outcome(await ofResource(resourceId)), '400 VALIDATION_ERROR', resourceId);
  });
});

describe('a resource of another organization', () => {
  it('200 while that organization is suspended; 404 RESOURCE_NOT_FOUND and not listed once it is deleted', async () => {
    const other = await tenant();
    const { resourceId } = await resource(other);
    await share(other, resourceId, home, ['refund']);
    const { agentId } = await agentIn(home);
    const operator = await t.token();
    const path = `/organizations/${other.organizationId}`;
    const lists = async (token: string) =>
      (await call('GET', '/resources?limit=100', token)).json.data.some(
        (each: { resourceId: string }) => each.resourceId === resourceId,
      );
    await call('PATCH', path, operator, { status: 'suspended' });
    const put = async () => outcome(await grant({ token: operator }, agentId, resourceId, ['refund']));
    assert.equal(await put(), '200');
    assert.deepEqual([await lists(owner.token), await lists(operator)], [true, true]);
    assert.equal((await call('DELETE', path, operator)).status, 204);
    assert.equal(await put(), '404 RESOURCE_NOT_FOUND');
    assert.deepEqual([await lists(owner.token), await lists(operator)], [false, false]);
    const admin = await agentIn(home, ['agents:write'], 'admin');
    assert.equal((await revoke(admin, agentId, resourceId)).status, 204);
  });
});

describe('races', () => {
  it('a grant against a narrowing never keeps a scope that the resource has lost', async () => {
    const agents = await concurrently(4, () => agentIn(home, []));
    for (let round = 0; round < 5; round += 1) {
      const { resourceId } = await resource(owner);
      const answers = await Promise.all([
        ...agents.map(({ agentId }) => grant(owner, agentId, resourceId, ['refund', 'orders:read'])),
        call('PATCH', `/resources/${resourceId}`, owner.token, { scopes: [{ name: 'orders:read' }] }),
        ...agents.map(({ agentId }) => grant(owner, agentId, resourceId, ['refund'])),
      ]);
      assert.ok(answers.every(({ status }) => status === 200 || status === 400));
      const rows = await t.sql('select from resource_grants where resource_id = $1 and scopes ? $2', [
        resourceId,
        'refund',
      ]);
      assert.equal(rows.length, 0);
    }
  });

  it('a grant against the deletion of the resource leaves no grant', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { resourceId } = await resource(owner);
      const answers = await Promise.all([
        grant(owner, owner.agentId, resourceId, ['refund']),
        call('DELETE', `/resources/${resourceId}`, owner.token),
      ]);
      assert.ok([200, 404].includes(answers[0].status));
      assert.equal(answers[1].status, 204);
      assert.deepEqual(await t.sql('select from resource_grants where resource_id = $1', [resourceId]), []);
    }
  });

  it('equal grants at once record one event', async () => {
    const { agentId } = await agentIn(home);
    const { resourceId } = await resource(owner);
    const answers = await concurrently(10, () => grant(owner, agentId, resourceId, ['refund']));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal((await events(home)).filter((each) => each.agentId === agentId).length, 1);
  });
});
