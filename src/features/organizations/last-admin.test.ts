/** An organization keeps at least one admin, an agent or a person; operators and the kill switch are exempt. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { outcome } from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const operator = await t.token();
const organizations = '/api/v1/organizations';

async function newOrganization() {
  const payload = { name: 'Team', slug: `team-${randomUUID().slice(0, 18)}`, planTier: 'pro' };
  const { organizationId } = (await t.call('POST', organizations, { token: operator, payload })).json;
  const members = `${organizations}/${organizationId}/members`;
  const people = `${organizations}/${organizationId}/people`;
  /** An agent of the organization with `agents:write`, its token, and the requests about its membership. */
  const agent = async (role?: 'admin' | 'member') => {
    const wanted = newAgent({ organization_id: organizationId, allowedScopes: ['agents:write'] });
    const { agentId } = (await t.call('POST', '/api/v1/agents', { token: operator, payload: wanted })).json;
    if (role) await t.call('POST', members, { token: operator, payload: { agentId, role } });
    const path = `/api/v1/agents/${agentId}`;
    const client = (await t.call('POST', `${path}/credentials`, { token: operator })).json;
    return {
      agentId,
      path,
      token: await t.token(undefined, client),
      demote: (token: string) =>
        t.call('PATCH', `${members}/${agentId}`, { token, payload: { role: 'member' } }),
      remove: (token: string) => t.call('DELETE', `${members}/${agentId}`, { token }),
    };
  };
  /** A person who acts through the agent. */
  const person = async (agentId: string, role: 'admin' | 'viewer') => {
    const issuer = 'https://login.example.com';
    const wanted = { issuer, subject: randomUUID(), name: 'Ada', role, agentId };
    const { personId } = (await t.call('POST', people, { token: operator, payload: wanted })).json;
    const path = `${people}/${personId}`;
    return {
      change: (token: string, payload: object) => t.call('PATCH', path, { token, payload }),
      remove: (token: string) => t.call('DELETE', path, { token }),
    };
  };
  const admins = async () => {
    const count = async (path: string) =>
      (await t.call('GET', `${path}?role=admin`, { token: operator })).json.total as number;
    return { members: await count(members), people: await count(people) };
  };
  return { organizationId, agent, person, admins };
}

describe('the last admin of an organization', () => {
  it('409 LAST_ADMIN for an agent that is demoted or removed; a member or a viewer beside it does not count', async () => {
    const { agent, person, admins } = await newOrganization();
    const [admin, member] = [await agent('admin'), await agent('member')];
    await person(member.agentId, 'viewer');
    for (const answer of [await admin.demote(admin.token), await admin.remove(admin.token)]) {
      assert.equal(outcome(answer), '409 LAST_ADMIN');
      assert.match(answer.json.message, /make another agent or person an admin first/);
    }
    assert.deepEqual(await admins(), { members: 1, people: 0 });
    assert.equal(outcome(await member.remove(admin.token)), '204');
  });

  it('200 and 204 for an agent beside an admin person, and for an admin person beside an agent', async () => {
    const { agent, person, admins } = await newOrganization();
    const [one, other] = [await agent('admin'), await agent('admin')];
    const ada = await person((await agent()).agentId, 'admin');
    assert.equal(outcome(await one.demote(one.token)), '200');
    assert.equal(outcome(await ada.change(other.token, { role: 'viewer' })), '200');
    assert.equal(outcome(await ada.change(other.token, { role: 'admin' })), '200');
    assert.equal(outcome(await other.remove(other.token)), '204');
    assert.deepEqual(await admins(), { members: 0, people: 1 });
  });

  it('suspended and decommissioned agents, people who act through them, and agents of other organizations do not count', async () => {
    const { organizationId, agent, person } = await newOrganization();
    const admin = await agent('admin');
    const [suspended, decommissioned, through] = [await agent('admin'), await agent('admin'), await agent()];
    await person(through.agentId, 'admin');
    const foreign = await t.agent();
    await t.call('POST', `${organizations}/${organizationId}/members`, {
      token: operator,
      payload: { agentId: foreign.agentId, role: 'admin' },
    });
    const suspend = { token: operator, payload: { status: 'suspended' } };
    await t.call('PATCH', suspended.path, suspend);
    await t.call('PATCH', through.path, suspend);
    await t.call('DELETE', decommissioned.path, { token: operator });
    assert.equal(outcome(await admin.demote(admin.token)), '409 LAST_ADMIN');
    // Those that do not count can be removed.
    assert.equal(outcome(await suspended.remove(admin.token)), '204');
    assert.equal(outcome(await decommissioned.remove(admin.token)), '204');
    await t.call('PATCH', through.path, { token: operator, payload: { status: 'active' } });
    assert.equal(outcome(await admin.demote(admin.token)), '200');
  });

  it('suspending the last admin person works; a suspended one does not count, and can be demoted and removed', async () => {
    const { agent, person } = await newOrganization();
    const admin = await agent('admin');
    const [ada, grace] = [await person(admin.agentId, 'admin'), await person(admin.agentId, 'admin')];
    await admin.demote(operator);
    await grace.change(operator, { status: 'suspended' });
    const member = await agent('admin');
    assert.equal(outcome(await ada.change(member.token, { status: 'suspended' })), '200');
    assert.equal(outcome(await member.demote(member.token)), '409 LAST_ADMIN');
    assert.equal(outcome(await ada.change(member.token, { role: 'member' })), '200');
    assert.equal(outcome(await grace.remove(member.token)), '204');
    const eve = await person(admin.agentId, 'admin');
    assert.equal(outcome(await member.demote(member.token)), '200');
    assert.equal(outcome(await eve.change(operator, { status: 'suspended' })), '200');
  });

  it('an operator can demote and remove it; suspending and decommissioning it need agents:write only', async () => {
    const { agent, person, admins } = await newOrganization();
    const admin = await agent('admin');
    assert.equal(outcome(await admin.demote(operator)), '200');
    const ada = await person(admin.agentId, 'admin');
    assert.equal(outcome(await ada.change(operator, { role: 'viewer' })), '200');
    await ada.change(operator, { role: 'admin' });
    assert.equal(outcome(await ada.remove(operator)), '204');
    assert.deepEqual(await admins(), { members: 0, people: 0 });
    const [last, plain] = [await agent('admin'), await agent()];
    const suspended = { token: plain.token, payload: { status: 'suspended' } };
    assert.equal(outcome(await t.call('PATCH', last.path, suspended)), '200');
    assert.equal(outcome(await t.call('DELETE', last.path, { token: plain.token })), '204');
  });

  it('of two admins that remove or demote each other at once, exactly one succeeds', async () => {
    for (const way of ['remove', 'demote'] as const)
      for (let round = 0; round < 5; round += 1) {
        const { agent, admins } = await newOrganization();
        const [one, other] = [await agent('admin'), await agent('admin')];
        const answers = await Promise.all([one[way](other.token), other[way](one.token)]);
        assert.equal(answers.filter(({ status }) => status < 300).length, 1, answers.map(outcome).join());
        assert.equal((await admins()).members, 1);
      }
  });

  it('of an agent and a person that are removed at once, exactly one stays', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { agent, person, admins } = await newOrganization();
      const admin = await agent('admin');
      const ada = await person(admin.agentId, 'admin');
      const answers = await Promise.all([admin.remove(admin.token), ada.remove(admin.token)]);
      assert.equal(answers.filter(({ status }) => status < 300).length, 1, answers.map(outcome).join());
      const { members, people } = await admins();
      assert.equal(members + people, 1);
    }
  });
});
