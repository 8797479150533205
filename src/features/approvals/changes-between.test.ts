/** What changes between the request, the decision and the poll counts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createApprovalScenario, ownApprovals } from '../../../test/support/scenarios/approvals.ts';

const scenario = await createApprovalScenario();
const { t, operate, asker, request, poll, decide, read, setPolicy, member, makeResource, isActive } =
  scenario;
const { organizationId, refresh, provider } = scenario;

const suspend = (personId: string) =>
  operate('PATCH', `/organizations/${organizationId}/people/${personId}`, { status: 'suspended' });

/** A request for both scopes that waits for a new person, at an API of its own. */
const waiting = async (more: object = {}) => {
  const person = await member();
  const api = await makeResource({ peopleScopes: ['orders:read', 'orders:write'], ...more });
  const client = await asker();
  const asked = await request(client, {
    resource: api.identifier,
    login_hint: person.personId,
    scope: 'orders:read orders:write',
  });
  return { ...asked, person, api, client };
};

const approve = async ({ person, approvalId }: Awaited<ReturnType<typeof waiting>>) => {
  const { status, text } = await decide(person.browser, approvalId);
  assert.equal(status, 200, text);
};

describe('between the request and the decision', () => {
  it('approvers: a new one decides, a former one gets 404 and does not see it', async () => {
    const [former, next] = [await member(), await member()];
    const api = await makeResource({ approvers: [former.personId] });
    const client = await asker();
    const { approvalId } = await request(client, {
      resource: api.identifier,
      login_hint: 'approvers',
      scope: 'orders:read',
    });
    assert.equal((await decide(next.browser, approvalId)).status, 404);
    await operate('PATCH', `/resources/${api.resourceId}`, { approvers: [next.personId] });
    assert.equal((await decide(former.browser, approvalId)).status, 404);
    assert.equal((await former.browser.request(ownApprovals)).json.total, 0);
    assert.equal((await decide(next.browser, approvalId)).status, 200);
    assert.equal((await read(approvalId)).decidedBy, next.personId);
  });

  it('requireTwo that is set afterwards: the first approval is not enough', async () => {
    const approver = await member();
    const asked = await waiting({ approvers: [approver.personId] });
    await setPolicy({ requireTwo: [asked.api.identifier] });
    await approve(asked);
    assert.equal((await read(asked.approvalId)).status, 'pending');
    assert.equal((await poll(asked.client, asked.authReqId)).json.error, 'authorization_pending');
    assert.equal((await decide(approver.browser, asked.approvalId)).status, 200);
    assert.equal((await read(asked.approvalId)).status, 'approved');
    await setPolicy({});
  });

  it('requireTwo that is ended afterwards: the first person approves again, and alone', async () => {
    const asked = await waiting();
    await setPolicy({ requireTwo: [asked.api.identifier] });
    await approve(asked);
    assert.equal((await decide(asked.person.browser, asked.approvalId)).status, 409);
    await setPolicy({});
    await approve(asked);
    assert.equal((await read(asked.approvalId)).status, 'approved');
  });

  it('selfApproval that is ended afterwards: the approval of the owner does not count', async () => {
    const login = `owner-${randomUUID()}`;
    provider.accounts[login] = { email: `${login}@example.com`, email_verified: true };
    const [owner, second, third] = [await member(login), await member(), await member()];
    const api = await makeResource({ approvers: [owner, second, third].map(({ personId }) => personId) });
    const client = await asker({ owner: `${login}@example.com` });
    const fields = { resource: api.identifier, login_hint: 'approvers', scope: 'orders:read' };
    await setPolicy({ requireTwo: [api.identifier], selfApproval: true });
    const { approvalId } = await request(client, fields);
    assert.equal((await decide(owner.browser, approvalId)).status, 200);
    await setPolicy({ requireTwo: [api.identifier] });
    assert.equal((await decide(second.browser, approvalId)).json.status, 'pending');
    assert.equal((await decide(third.browser, approvalId)).json.status, 'approved');
    await setPolicy({});
  });

  it('time: the access counts from the decision', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, {
      login_hint: personId,
      access_expires_in: '600',
    });
    t.clock.advance(500_000);
    assert.equal((await decide(browser, approvalId)).status, 200);
    t.clock.advance(400_000);
    const tokens = await poll(client, authReqId);
    assert.equal(tokens.status, 200, tokens.text);
    t.clock.advance(201_000);
    assert.equal((await refresh(client, tokens.json.refresh_token)).json.error, 'invalid_grant');
  });

  it('a scope that people may not lend any more: 403, and the rest can be approved', async () => {
    const { api, person, approvalId, client, authReqId } = await waiting();
    await operate('PATCH', `/resources/${api.resourceId}`, { peopleScopes: ['orders:read'] });
    assert.equal((await decide(person.browser, approvalId)).status, 403);
    assert.equal((await read(approvalId)).status, 'pending');
    const narrower = { decision: 'approve', scopes: ['orders:read'] };
    assert.equal((await decide(person.browser, approvalId, narrower)).status, 200);
    assert.equal((await poll(client, authReqId)).json.scope, 'orders:read');
  });

  it('a person who is suspended: 401, and no other person can decide', async () => {
    const { person, approvalId, client, authReqId } = await waiting();
    await suspend(person.personId);
    assert.equal((await decide(person.browser, approvalId)).status, 401);
    assert.equal((await poll(client, authReqId)).json.error, 'authorization_pending');
    t.clock.advance(600_001);
    assert.equal((await poll(client, authReqId)).json.error, 'expired_token');
  });
});

describe('between the decision and the poll', () => {
  it('the person is suspended: no token', async () => {
    const asked = await waiting();
    await approve(asked);
    await suspend(asked.person.personId);
    assert.equal((await poll(asked.client, asked.authReqId)).json.error, 'invalid_grant');
  });

  it('the agent is suspended: no token, also after it is active again', async () => {
    const asked = await waiting();
    await approve(asked);
    await operate('PATCH', `/agents/${asked.client.agentId}`, { status: 'suspended' });
    assert.notEqual((await poll(asked.client, asked.authReqId)).status, 200);
    await operate('PATCH', `/agents/${asked.client.agentId}`, { status: 'active' });
    const answer = await poll(asked.client, asked.authReqId);
    assert.equal(answer.json.error, 'invalid_grant', answer.text);
  });

  it('peopleScopes are narrowed: the token has the rest, and refreshing gives no more', async () => {
    const asked = await waiting();
    await approve(asked);
    const narrow = (peopleScopes: string[]) =>
      operate('PATCH', `/resources/${asked.api.resourceId}`, { peopleScopes });
    await narrow(['orders:read']);
    const tokens = (await poll(asked.client, asked.authReqId)).json;
    assert.equal(tokens.scope, 'orders:read');
    await narrow([]);
    assert.equal(await isActive(tokens.access_token), false);
    assert.notEqual((await refresh(asked.client, tokens.refresh_token)).status, 200);
  });

  it('the access has ended by its time: no token', async () => {
    const asked = await waiting();
    const { status } = await decide(asked.person.browser, asked.approvalId, {
      decision: 'approve',
      accessExpiresIn: 60,
    });
    assert.equal(status, 200);
    t.clock.advance(60_001);
    assert.equal((await poll(asked.client, asked.authReqId)).json.error, 'invalid_grant');
  });

  it('a shorter maxAccessSeconds ends nothing that was approved', async () => {
    const asked = await waiting();
    await approve(asked);
    await setPolicy({ maxAccessSeconds: 60 });
    const { status, json } = await poll(asked.client, asked.authReqId);
    assert.equal(status, 200);
    t.clock.advance(61_000);
    assert.equal(await isActive(json.access_token), true);
    await setPolicy({});
  });
});
