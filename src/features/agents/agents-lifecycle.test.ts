import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { type AgentStatus, agentTransitions } from './transitions.ts';

const t = await startApp();
const token = await t.token();

const create = async (changes: Record<string, unknown> = {}) =>
  (await t.call('POST', '/api/v1/agents', { token, payload: newAgent(changes) })).json;
const read = async (id: string) => (await t.call('GET', `/api/v1/agents/${id}`, { token })).json;
const patch = (id: string, payload: object, as = token) =>
  t.call('PATCH', `/api/v1/agents/${id}`, { token: as, payload });
const remove = (id: string) => t.call('DELETE', `/api/v1/agents/${id}`, { token });
const eventsOf = async (id: string) =>
  (
    await t.sql<{ action: string }>(
      "select action from audit_events where agent_id = $1 and action like 'agent.%' order by occurred_at, event_id",
      [id],
    )
  ).map(({ action }) => action);

describe('state transitions of an agent', () => {
  const steps: Record<string, (id: string) => ReturnType<typeof patch>> = {
    'PATCH active': (id) => patch(id, { status: 'active' }),
    'PATCH suspended': (id) => patch(id, { status: 'suspended' }),
    'PATCH decommissioned': (id) => patch(id, { status: 'decommissioned' }),
    DELETE: remove,
  };
  for (const from of ['active', 'suspended', 'decommissioned'] as AgentStatus[]) {
    for (const [step, take] of Object.entries(steps)) {
      const to = (step.split(' ')[1] ?? 'decommissioned') as AgentStatus;
      const event = agentTransitions[from][to];
      const refusal =
        from === 'decommissioned'
          ? step === 'DELETE'
            ? '409 AGENT_ALREADY_DECOMMISSIONED'
            : '403 AGENT_DECOMMISSIONED'
          : undefined;
      it(`${from}, ${step}: ${refusal ?? event ?? 'nothing happens'}`, async () => {
        const { agentId } = await create();
        if (from !== 'active') await patch(agentId, { status: from });
        const before = await eventsOf(agentId);
        const answer = await take(agentId);
        assert.equal(
          refusal ?? (step === 'DELETE' ? '204 ' : '200 '),
          `${answer.status} ${answer.status < 400 ? '' : answer.json.code}`,
        );
        assert.equal((await read(agentId)).status, refusal ? from : to);
        assert.deepEqual((await eventsOf(agentId)).slice(before.length), event ? [event] : []);
      });
    }
  }
  it('a suspended agent gets 403 for new tokens and its live tokens end for good; after reactivation it gets new ones', async () => {
    const agent = await t.agent();
    const live = await t.token(undefined, agent);
    await patch(agent.agentId, { status: 'suspended' });
    assert.equal((await t.call('GET', '/api/v1/agents', { token: live })).status, 401);
    const fields = {
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
    };
    const refused = await t.askToken(fields);
    assert.deepEqual([refused.status, refused.json.error], [403, 'unauthorized_client']);
    await patch(agent.agentId, { status: 'active' });
    assert.equal((await t.call('GET', '/api/v1/agents', { token: live })).status, 401, 'ended is ended');
    const fresh = (await t.askToken(fields)).json.access_token;
    assert.equal((await t.call('GET', '/api/v1/agents', { token: fresh })).status, 200);
  });
  it('DELETE and PATCH decommissioned revoke every credential at once', async () => {
    for (const end of [remove, (id: string) => patch(id, { status: 'decommissioned' })]) {
      const agent = await t.agent();
      await end(agent.agentId);
      const { json } = await t.call('GET', `/api/v1/agents/${agent.agentId}/credentials`, { token });
      assert.deepEqual(
        json.data.map(({ status }: { status: string }) => status),
        ['revoked'],
      );
      assert.notEqual(json.data[0].revokedAt, null);
    }
  });
});

describe('PATCH /agents/{agentId}', () => {
  it('200 changes every mutable field, and replaces the list of capabilities', async () => {
    const before = await create();
    const change = {
      agentType: 'router',
      version: '2.0.0-rc.1+build.5',
      capabilities: ['mail:send', 'mail:read'],
      owner: 'mail-team',
      deploymentEnv: 'staging',
      allowedScopes: ['agents:read'],
    };
    const { status, json } = await patch(before.agentId, change);
    assert.equal(status, 200);
    const { updatedAt, ...rest } = json;
    const { updatedAt: _, ...expected } = { ...before, ...change };
    assert.deepEqual(rest, expected);
    assert.ok(updatedAt >= before.updatedAt);
    assert.deepEqual(await read(before.agentId), json);
  });
  it('200 for an empty body and for equal values: no change, no event', async () => {
    const before = await create();
    t.clock.advance(1_000);
    assert.deepEqual((await patch(before.agentId, {})).json, before);
    assert.deepEqual(
      (await patch(before.agentId, { owner: before.owner, capabilities: before.capabilities })).json,
      before,
    );
    assert.deepEqual(await eventsOf(before.agentId), ['agent.created']);
  });
  it('one event for a change of status and other fields, with all changed fields', async () => {
    const { agentId } = await create();
    await patch(agentId, { status: 'suspended', owner: 'incident-team' });
    assert.deepEqual(await eventsOf(agentId), ['agent.created', 'agent.suspended']);
    const [row] = await t.sql<{ metadata: { changed: string[]; owner: string } }>(
      "select metadata from audit_events where agent_id = $1 and action = 'agent.suspended'",
      [agentId],
    );
    assert.deepEqual(row?.metadata.changed.toSorted(), ['owner', 'status']);
    assert.equal(row?.metadata.owner, 'incident-team');
  });
  for (const field of ['agentId', 'email', 'createdAt']) {
    it(`400 IMMUTABLE_FIELD for ${field}, also with a valid change, which is not applied`, async () => {
      const before = await create();
      const { status, json } = await patch(before.agentId, { [field]: before[field], owner: 'thief' });
      assert.deepEqual([status, json.code, json.details.fields], [400, 'IMMUTABLE_FIELD', [field]]);
      assert.equal((await read(before.agentId)).owner, before.owner);
    });
  }
  for (const [field, value] of [
    ['version', 'v1'],
    ['capabilities', []],
    ['capabilities', ['nocolon']],
    ['owner', ''],
    ['owner', 'x'.repeat(129)],
    ['deploymentEnv', 'moon'],
    ['status', 'asleep'],
    ['allowedScopes', ['everything']],
    ['organizationId', 'x'],
    ['updatedAt', '2026-01-01T00:00:00.000Z'],
  ] as const) {
    it(`400 VALIDATION_ERROR naming ${field} for ${JSON.stringify(value).slice(0, 30)}`, async () => {
      const { json } = await patch((await create()).agentId, { [field]: value });
      assert.equal(json.code, 'VALIDATION_ERROR');
      assert.match(json.details.fields[0].field, new RegExp(`^${field}`));
    });
  }
});

describe('reactivation', () => {
  const home = t.operator.organizationId;
  const writerToken = async (...more: string[]) =>
    t.token(undefined, await t.agent({ allowedScopes: ['agents:read', 'agents:write', ...more] }));
  const makeAdmin = (agentId: string) =>
    t.call('POST', `/api/v1/organizations/${home}/members`, { token, payload: { agentId, role: 'admin' } });
  const statusOf = async (id: string) => (await read(id)).status;
  const said = ({ status, json }: Awaited<ReturnType<typeof patch>>) =>
    status < 400 ? String(status) : `${status} ${json.code}`;
  const active = { status: 'active' };
  const suspended = { status: 'suspended' };

  it('403 FORBIDDEN by a caller who lacks a scope of the agent; 200 by one who has them all', async () => {
    const weak = await writerToken();
    const equal = await writerToken('audit:read');
    const { agentId } = await create({ allowedScopes: ['agents:read', 'audit:read'] });
    assert.equal(
      said(await patch(agentId, suspended, weak)),
      '200',
      'taking power away needs agents:write only',
    );
    const refused = await patch(agentId, { ...active, owner: 'thief' }, weak);
    assert.equal(said(refused), '403 FORBIDDEN');
    assert.deepEqual(refused.json.details.exceeded, ['audit:read']);
    assert.deepEqual([await statusOf(agentId), (await read(agentId)).owner], ['suspended', 'talent-team']);
    assert.equal(said(await patch(agentId, active, equal)), '200');
    assert.equal(await statusOf(agentId), 'active');
  });
  it("403 FORBIDDEN by a member for an admin's agent; 200 by another admin", async () => {
    const [boss, other, member] = [await t.agent(), await t.agent(), await t.agent()];
    for (const { agentId } of [boss, other]) await makeAdmin(agentId);
    const [asOther, asMember] = [await t.token(undefined, other), await t.token(undefined, member)];
    assert.equal(said(await patch(boss.agentId, suspended, asMember)), '200');
    assert.equal(said(await patch(boss.agentId, active, asMember)), '403 FORBIDDEN');
    assert.equal(said(await patch(boss.agentId, active, asOther)), '200');
  });
  it('403 FORBIDDEN by an admin after a suspension by the operator; 200 by the operator', async () => {
    const [boss, target] = [await t.agent(), await t.agent()];
    await makeAdmin(boss.agentId);
    const asBoss = await t.token(undefined, boss);
    await patch(target.agentId, suspended);
    // Suspending it once more does not make it the organization's own suspension.
    assert.equal(said(await patch(target.agentId, suspended, asBoss)), '200');
    assert.equal(said(await patch(target.agentId, { owner: 'incident-team' }, asBoss)), '200');
    const refused = await patch(target.agentId, active, asBoss);
    assert.equal(said(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /only an operator/);
    assert.equal(await statusOf(target.agentId), 'suspended');
    assert.equal(said(await patch(target.agentId, active)), '200');
    // A later suspension by the organization is not the operator's.
    assert.equal(said(await patch(target.agentId, suspended, asBoss)), '200');
    assert.equal(said(await patch(target.agentId, active, asBoss)), '200');
  });
  it("200 by an admin after its own suspension, when an operator's earlier one was lifted by the previous version", async () => {
    const [boss, target] = [await t.agent(), await t.agent()];
    await makeAdmin(boss.agentId);
    const asBoss = await t.token(undefined, boss);
    // The previous version sets the status and does not touch the column.
    await t.sql('update agents set suspended_by_operator = true where agent_id = $1', [target.agentId]);
    assert.equal(await statusOf(target.agentId), 'active');
    assert.equal(said(await patch(target.agentId, suspended, asBoss)), '200');
    assert.equal(said(await patch(target.agentId, active, asBoss)), '200');
    assert.equal(await statusOf(target.agentId), 'active');
  });
  it('403 FORBIDDEN by an admin whose own suspension the operator has confirmed, with one event for that', async () => {
    const [boss, target] = [await t.agent(), await t.agent()];
    await makeAdmin(boss.agentId);
    const asBoss = await t.token(undefined, boss);
    await patch(target.agentId, suspended, asBoss);
    assert.equal(said(await patch(target.agentId, suspended)), '200');
    assert.equal(said(await patch(target.agentId, suspended)), '200');
    assert.equal(said(await patch(target.agentId, active, asBoss)), '403 FORBIDDEN');
    const events = await eventsOf(target.agentId);
    assert.deepEqual(events, ['agent.created', 'agent.suspended', 'agent.updated']);
    assert.equal(said(await patch(target.agentId, active)), '200');
  });
  it("403 FORBIDDEN by an operator's agent whose token lacks admin:orgs; 204 to decommission it all the same", async () => {
    const narrow = await t.token('agents:read agents:write audit:read');
    const { agentId } = await create({ allowedScopes: ['agents:read'] });
    await patch(agentId, suspended);
    assert.equal(said(await patch(agentId, active, narrow)), '403 FORBIDDEN');
    const { status } = await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: narrow });
    assert.equal(status, 204);
  });
  it('suspendedByOperator is in the audit event, not in the response', async () => {
    const { agentId } = await create();
    const answer = await patch(agentId, suspended);
    assert.ok(!('suspendedByOperator' in answer.json));
    const [row] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where agent_id = $1 and action = 'agent.suspended'",
      [agentId],
    );
    assert.equal(row?.metadata.suspendedByOperator, true);
  });
});

describe('no amplification', () => {
  it("403 FORBIDDEN to widen or narrow scopes, set keys or generate secrets beyond the caller's scopes", async () => {
    const writer = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const as = await t.token(undefined, writer);
    const strong = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const weak = await t.agent({ allowedScopes: [] });
    const path = `/api/v1/agents/${strong.agentId}`;
    const [{ credentialId }] = (await t.call('GET', `${path}/credentials`, { token })).json.data;
    for (const answer of [
      await patch(weak.agentId, { allowedScopes: ['audit:read'] }, as),
      await patch(weak.agentId, { allowedScopes: ['admin:orgs'] }, as),
      await patch(strong.agentId, { allowedScopes: ['agents:read'] }, as),
      await t.call('POST', `${path}/credentials`, { token: as }),
      await t.call('POST', `${path}/credentials/${credentialId}/rotate`, { token: as }),
      await t.call('PUT', `${path}/keys`, { token: as, payload: { keys: [] } }),
    ]) {
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN'], answer.text);
    }
    assert.equal((await patch(weak.agentId, { allowedScopes: ['agents:read'] }, as)).status, 200);
    assert.equal((await patch(weak.agentId, { allowedScopes: [] }, as)).status, 200);
    // Unchanged scopes need no authorization.
    const same = { owner: 'another team', allowedScopes: ['audit:read', 'agents:read'] };
    assert.equal((await patch(strong.agentId, same, as)).status, 200);
  });
  it('a narrowed agent loses the scopes at once, in live tokens too, and cannot restore them', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const live = await t.token(undefined, agent);
    await patch(agent.agentId, { allowedScopes: ['audit:read'] });
    const refused = await patch(agent.agentId, { allowedScopes: ['agents:write'] }, live);
    assert.deepEqual([refused.status, refused.json.code], [403, 'INSUFFICIENT_SCOPE']);
    const { json } = await t.askToken({
      grant_type: 'client_credentials',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
    });
    assert.equal(json.scope, 'audit:read');
  });
  it("403 FORBIDDEN for non-operators to change or decommission an operator's agent or revoke its credentials", async () => {
    const writer = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const as = await t.token(undefined, writer);
    const path = `/api/v1/agents/${t.operator.agentId}`;
    const [{ credentialId }] = (await t.call('GET', `${path}/credentials`, { token })).json.data;
    for (const answer of [
      await patch(t.operator.agentId, { status: 'suspended' }, as),
      await patch(t.operator.agentId, { owner: 'me' }, as),
      await t.call('DELETE', path, { token: as }),
      await t.call('DELETE', `${path}/credentials/${credentialId}`, { token: as }),
    ]) {
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN'], answer.text);
      assert.match(answer.json.message, /scope admin:orgs/);
    }
    assert.equal((await read(t.operator.agentId)).status, 'active');
  });
  it('403 FORBIDDEN for a member to generate or rotate secrets or set keys of an admin', async () => {
    const [boss, member] = [await t.agent(), await t.agent()];
    const url = `/api/v1/organizations/${t.operator.organizationId}/members`;
    await t.call('POST', url, { token, payload: { agentId: boss.agentId, role: 'admin' } });
    const as = await t.token(undefined, member);
    const path = `/api/v1/agents/${boss.agentId}`;
    const [{ credentialId }] = (await t.call('GET', `${path}/credentials`, { token })).json.data;
    const attempts = () =>
      Promise.all([
        t.call('POST', `${path}/credentials`, { token: as }),
        t.call('POST', `${path}/credentials/${credentialId}/rotate`, { token: as }),
        t.call('PUT', `${path}/keys`, { token: as, payload: { keys: [] } }),
      ]);
    for (const answer of await attempts()) {
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
      assert.match(answer.json.message, /role admin .* or scope admin:orgs/);
    }
    await t.call('POST', url, { token, payload: { agentId: member.agentId, role: 'admin' } });
    for (const answer of await attempts()) assert.ok(answer.status < 300, answer.text);
  });
});
