import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const token = await t.token();
const url = '/api/v1/organizations';

const makeOrganization = async (): Promise<string> =>
  (
    await t.call('POST', url, {
      token,
      payload: { name: 'Talent team', slug: `team-${randomUUID().slice(0, 18)}` },
    })
  ).json.organizationId;

type Role = 'member' | 'admin';

/** A new agent of the organization with this role, its membership and its token. */
async function memberOf(organizationId: string, role: Role) {
  const { agentId } = (
    await t.call('POST', '/api/v1/agents', { token, payload: newAgent({ organization_id: organizationId }) })
  ).json;
  const membership = (
    await t.call('POST', `${url}/${organizationId}/members`, { token, payload: { agentId, role } })
  ).json;
  const credential = (await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token })).json;
  return { agentId, membership, token: await t.token(undefined, credential) };
}

const list = (id: string, query = '', as = token) =>
  t.call('GET', `${url}/${id}/members${query}`, { token: as });
const change = (id: string, agentId: string, payload: object, as = token) =>
  t.call('PATCH', `${url}/${id}/members/${agentId}`, { token: as, payload });
const remove = (id: string, agentId: string, as = token) =>
  t.call('DELETE', `${url}/${id}/members/${agentId}`, { token: as });
const events = (id: string) =>
  t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
    "select action, agent_id, metadata from audit_events where organization_id = $1 and action like 'member.%' order by occurred_at, event_id",
    [id],
  );

describe('GET /organizations/{orgId}/members', () => {
  it('200 newest first, each as POST answered it, with the total of the organization alone', async () => {
    const id = await makeOrganization();
    await memberOf(await makeOrganization(), 'admin');
    const admin = await memberOf(id, 'admin');
    t.clock.advance(1_000);
    const member = await memberOf(id, 'member');
    for (const as of [token, admin.token]) {
      const { status, json } = await list(id, '', as);
      assert.equal(status, 200);
      assert.deepEqual(json, { data: [member.membership, admin.membership], total: 2, page: 1, limit: 20 });
    }
    const second = (await list(id, '?limit=1&page=2')).json;
    assert.deepEqual(second, { data: [admin.membership], total: 2, page: 2, limit: 1 });
    const admins = (await list(id, '?role=admin')).json;
    assert.deepEqual([admins.data, admins.total], [[admin.membership], 1]);
  });
  it('400 VALIDATION_ERROR for an unknown or empty role, a limit above 100 and a malformed id', async () => {
    const id = await makeOrganization();
    for (const query of ['?role=owner', '?role=', '?limit=101', '?page=0'])
      assert.equal((await list(id, query)).json.code, 'VALIDATION_ERROR', query);
    assert.equal((await list('not-a-uuid')).json.code, 'VALIDATION_ERROR');
  });
  it('403 FORBIDDEN for a member without the role admin', async () => {
    const id = await makeOrganization();
    const member = await memberOf(id, 'member');
    assert.equal((await list(id, '', member.token)).json.code, 'FORBIDDEN');
  });
  it('404 ORG_NOT_FOUND for an unknown organization, and for a foreign one', async () => {
    const admin = await memberOf(await makeOrganization(), 'admin');
    assert.equal((await list(randomUUID())).json.code, 'ORG_NOT_FOUND');
    assert.equal((await list(await makeOrganization(), '', admin.token)).json.code, 'ORG_NOT_FOUND');
  });
});

describe('PATCH /organizations/{orgId}/members/{agentId}', () => {
  it('200 with the new role, which takes effect on the next request', async () => {
    const id = await makeOrganization();
    const { agentId, membership, token: own } = await memberOf(id, 'member');
    assert.equal((await list(id, '', own)).status, 403);
    const promoted = await change(id, agentId.toUpperCase(), { role: 'admin' });
    assert.equal(promoted.status, 200);
    assert.deepEqual(promoted.json, { ...membership, role: 'admin' });
    assert.equal((await list(id, '', own)).status, 200);
    assert.equal((await change(id, agentId, { role: 'member' })).json.role, 'member');
    assert.equal((await list(id, '', own)).status, 403);
    const { memberId } = membership;
    const recorded = (await events(id)).map(({ action, agent_id, metadata: { requestId: _, ...rest } }) => [
      action,
      agent_id,
      rest,
    ]);
    const actorId = t.operator.agentId;
    assert.deepEqual(recorded, [
      ['member.added', agentId, { memberId, role: 'member', actorId }],
      ['member.updated', agentId, { memberId, role: 'admin', previousRole: 'member', actorId }],
      ['member.updated', agentId, { memberId, role: 'member', previousRole: 'admin', actorId }],
    ]);
  });
  it('200 and no event for the role that the member has already', async () => {
    const id = await makeOrganization();
    const { agentId, membership } = await memberOf(id, 'admin');
    assert.deepEqual((await change(id, agentId, { role: 'admin' })).json, membership);
    assert.equal((await events(id)).length, 1);
  });
  it('200 for an admin that promotes a member, and that gives up its own role', async () => {
    const id = await makeOrganization();
    const [admin, member] = [await memberOf(id, 'admin'), await memberOf(id, 'member')];
    assert.equal((await change(id, member.agentId, { role: 'admin' }, admin.token)).status, 200);
    assert.equal((await change(id, admin.agentId, { role: 'member' }, admin.token)).status, 200);
    assert.equal((await change(id, admin.agentId, { role: 'admin' }, admin.token)).status, 403);
    assert.equal((await change(id, admin.agentId, { role: 'admin' }, member.token)).status, 200);
  });
  it('400 VALIDATION_ERROR for an unknown role, another field and a malformed id; 200 for an empty change', async () => {
    const id = await makeOrganization();
    const { agentId } = await memberOf(id, 'member');
    assert.equal((await change(id, agentId, {})).json.role, 'member');
    for (const payload of [{ role: 'owner' }, { role: null }, { role: 'admin', agentId }])
      assert.equal((await change(id, agentId, payload)).json.code, 'VALIDATION_ERROR');
    assert.equal((await change(id, 'me', { role: 'admin' })).json.code, 'VALIDATION_ERROR');
    assert.equal((await list(id, '?role=member')).json.total, 1);
  });
  it('403 FORBIDDEN for a member that would promote itself', async () => {
    const id = await makeOrganization();
    const member = await memberOf(id, 'member');
    assert.equal((await change(id, member.agentId, { role: 'admin' }, member.token)).json.code, 'FORBIDDEN');
    assert.equal((await list(id, '?role=admin')).json.total, 0);
  });
  it('404 MEMBER_NOT_FOUND for an agent that is no member, unknown, or a member elsewhere', async () => {
    const id = await makeOrganization();
    const { agentId } = await t.agent({ organization_id: id });
    const elsewhere = await memberOf(await makeOrganization(), 'member');
    for (const other of [agentId, randomUUID(), elsewhere.agentId]) {
      assert.equal((await change(id, other, { role: 'admin' })).json.code, 'MEMBER_NOT_FOUND');
      assert.equal((await remove(id, other)).json.code, 'MEMBER_NOT_FOUND');
    }
  });
  it('404 ORG_NOT_FOUND for an unknown, a foreign and a deleted organization; nothing changes', async () => {
    const admin = await memberOf(await makeOrganization(), 'admin');
    const id = await makeOrganization();
    const member = await memberOf(id, 'member');
    const ask = (org: string, as?: string) => [
      change(org, member.agentId, { role: 'admin' }, as),
      remove(org, member.agentId, as),
    ];
    await t.call('DELETE', `${url}/${id}`, { token });
    for (const answer of await Promise.all([...ask(randomUUID()), ...ask(id, admin.token), ...ask(id)]))
      assert.equal(answer.json.code, 'ORG_NOT_FOUND');
    // Operators still see a deleted organization.
    assert.deepEqual((await list(id)).json.data, [member.membership]);
  });
});

describe('DELETE /organizations/{orgId}/members/{agentId}', () => {
  it('204, the role ends on the next request, and the agent can become a member again', async () => {
    const id = await makeOrganization();
    const admin = await memberOf(id, 'admin');
    const removed = await remove(id, admin.agentId);
    assert.deepEqual([removed.status, removed.text], [204, '']);
    assert.equal((await list(id, '', admin.token)).status, 403);
    assert.equal((await list(id)).json.total, 0);
    assert.equal((await remove(id, admin.agentId)).json.code, 'MEMBER_NOT_FOUND');
    const again = await t.call('POST', `${url}/${id}/members`, {
      token,
      payload: { agentId: admin.agentId, role: 'member' },
    });
    assert.equal(again.status, 201);
    assert.deepEqual(
      (await events(id)).map(({ action }) => action),
      ['member.added', 'member.removed', 'member.added'],
    );
    assert.equal(
      (await t.call('GET', `/api/v1/agents/${admin.agentId}`, { token: admin.token })).status,
      200,
    );
  });
  it('204 for exactly one of ten concurrent requests', async () => {
    const id = await makeOrganization();
    const { agentId } = await memberOf(id, 'member');
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove(id, agentId)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      204,
      ...Array.from({ length: 9 }, () => 404),
    ]);
  });
  it('403 FORBIDDEN for a member, also for its own membership', async () => {
    const id = await makeOrganization();
    const member = await memberOf(id, 'member');
    assert.equal((await remove(id, member.agentId, member.token)).json.code, 'FORBIDDEN');
    assert.equal((await list(id)).json.total, 1);
  });
});
