/** Whose word counts, and for what, when something changed between the request and the decision. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Answer } from '../../../test/support/harness.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';

const scenario = await createApprovalScenario();
const { t, operate, api, asker, bcAuthorize, request, poll, decide, read, setPolicy, member, admin } =
  scenario;
const { makeResource, provider } = scenario;

type Answered = Pick<Answer, 'status' | 'json' | 'text'>;
const assertCode = ({ status, json, text }: Answered, code: string, wanted: number) =>
  assert.deepEqual([status, json.code], [wanted, code], text);
const succeed = (answer: Answered) => {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};

const withEmail = async () => {
  const login = `person-${randomUUID()}`;
  const email = `${login}@example.com`;
  provider.accounts[login] = { email, email_verified: true };
  return { ...(await member(login)), email };
};

/** An API for which two of these people must approve. */
const forTwo = async (people: readonly { personId: string }[], policy: object = {}) => {
  const resource = await makeResource({ approvers: people.map(({ personId }) => personId) });
  await setPolicy({ ...policy, requireTwo: [resource.identifier] });
  return { resource, fields: { login_hint: 'approvers', resource: resource.identifier } };
};

describe('where two people must approve', () => {
  it('the word of a person who is no approver any more does not count, nor decides', async () => {
    const people = [await member(), await member(), await member()] as const;
    const [one, two, three] = people;
    const { resource, fields } = await forTwo(people);
    const { approvalId } = await request(await asker(), fields);
    succeed(await decide(one.browser, approvalId));
    await operate('PATCH', `/resources/${resource.resourceId}`, {
      approvers: [two.personId, three.personId],
    });
    for (const decision of ['approve', 'deny'])
      assertCode(await decide(one.browser, approvalId, { decision }), 'APPROVAL_NOT_FOUND', 404);
    const second = succeed(await decide(two.browser, approvalId));
    assert.deepEqual([second.status, second.approvals.length], ['pending', 1]);
    assert.equal(succeed(await decide(three.browser, approvalId)).status, 'approved');
    await setPolicy({});
  });

  it('nor that of the owner of the agent, once the organization forbids it', async () => {
    const [owner, two] = [await withEmail(), await member()];
    const { fields, resource } = await forTwo([owner, two], { selfApproval: true });
    const { approvalId } = await request(await asker({ owner: owner.email }), fields);
    succeed(await decide(owner.browser, approvalId));
    await setPolicy({ requireTwo: [resource.identifier] });
    assert.equal(succeed(await decide(two.browser, approvalId)).status, 'pending');
    await setPolicy({});
  });

  it('one human with two records is one', async () => {
    const [one, two, three] = [await withEmail(), await member(), await member()];
    await t.sql('update people set email = $1 where person_id = $2', [one.email.toUpperCase(), two.personId]);
    const { fields } = await forTwo([one, two, three]);
    const { approvalId } = await request(await asker(), fields);
    succeed(await decide(one.browser, approvalId));
    assert.equal(succeed(await decide(two.browser, approvalId)).status, 'pending');
    assert.equal(succeed(await decide(three.browser, approvalId)).status, 'approved');
    await setPolicy({});
  });

  it('in every spelling of the identifier, and of our own address', async () => {
    const one = await member();
    const boss = await admin();
    const client = await asker();
    const resource = await makeResource({ approvers: [one.personId] });
    const loud = resource.identifier.replace(/^https:..[^/]*/, (origin: string) => origin.toUpperCase());
    const { issuer } = scenario;
    for (const spelling of [loud, `${resource.identifier}/`, `${loud}/`]) {
      await setPolicy({ requireTwo: [spelling] });
      const { approvalId } = await request(client, {
        login_hint: one.personId,
        resource: resource.identifier,
      });
      assert.equal(succeed(await decide(one.browser, approvalId)).status, 'pending', spelling);
    }
    for (const spelling of [issuer.toUpperCase(), `${issuer}/`, `${issuer}:443`]) {
      await setPolicy({ requireTwo: [spelling] });
      const fields = { login_hint: boss.personId, resource: issuer, scope: 'agents:read' };
      const { approvalId } = await request(client, fields);
      assert.equal(succeed(await decide(boss.browser, approvalId)).status, 'pending', spelling);
    }
    await setPolicy({});
  });

  it('a rule that was lifted holds no person up', async () => {
    const [one, two] = [await member(), await member()];
    const { fields } = await forTwo([one, two]);
    const { approvalId } = await request(await asker(), fields);
    succeed(await decide(one.browser, approvalId));
    await setPolicy({});
    assert.equal(succeed(await decide(one.browser, approvalId)).status, 'approved');
  });
});

describe('selfApproval', () => {
  it('403 for an agent that the person registered through an agent, or with another record', async () => {
    const boss = await admin();
    const client = await asker();
    const fields = { login_hint: boss.personId, resource: scenario.issuer, scope: 'agents:write' };
    const { authReqId, approvalId } = await request(client, fields);
    succeed(await decide(boss.browser, approvalId));
    const { access_token: token } = succeed(await poll(client, authReqId));
    const payload = {
      email: `${randomUUID()}@agents.example.com`,
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['orders:pay'],
      owner: 'team',
      deploymentEnv: 'production',
      allowedScopes: [],
    };
    const made = await t.call('POST', '/api/v1/agents', { token, payload });
    assert.equal(made.status, 201, made.text);
    const { agentId } = made.json;
    const { clientSecret } = await operate('POST', `/agents/${agentId}/credentials`, {});
    const own = { credentials: { client_id: agentId, client_secret: clientSecret } };
    const mine = await request(own, { login_hint: boss.personId });
    assertCode(await decide(boss.browser, mine.approvalId), 'FORBIDDEN', 403);

    const other = await withEmail();
    await t.sql('update people set email = $1 where person_id = $2', [other.email, boss.personId]);
    const theirs = await request(own, { login_hint: other.personId });
    assertCode(await decide(other.browser, theirs.approvalId), 'FORBIDDEN', 403);
  });
});

describe('an API that changed since the request', () => {
  const ask = async (resource: { identifier: string }, amount: number) => {
    const [client, person] = [await asker(), await member()];
    const authorization_details = JSON.stringify([{ type: 'payment', amount }]);
    const fields = { login_hint: person.personId, resource: resource.identifier, authorization_details };
    return { ...(await request(client, fields)), ...person, client };
  };
  const typed = (schema: object) => ({ authorizationDetailTypes: [{ type: 'payment', schema }] });

  it('403 for details that it does not allow any more; they can be denied', async () => {
    const resource = await makeResource(typed({}));
    const { browser, approvalId } = await ask(resource, 1_000);
    const url = `/resources/${resource.resourceId}`;
    for (const change of [
      typed({ properties: { amount: { maximum: 10 } } }),
      { authorizationDetailTypes: [] },
    ]) {
      await operate('PATCH', url, change);
      assertCode(await decide(browser, approvalId), 'FORBIDDEN', 403);
    }
    assert.equal((await read(approvalId)).status, 'pending');
    succeed(await decide(browser, approvalId, { decision: 'deny' }));
  });

  it('deleted and registered anew it is another: the identifier is free, and the request cannot be approved', async () => {
    const resource = await makeResource(typed({}));
    const { browser, approvalId } = await ask(resource, 1);
    await operate('DELETE', `/resources/${resource.resourceId}`);
    assertCode(await decide(browser, approvalId), 'FORBIDDEN', 403);
    const { identifier } = resource;
    await makeResource({ identifier, name: 'Another', ...typed({}) });
    assertCode(await decide(browser, approvalId), 'FORBIDDEN', 403);
    assert.deepEqual((await read(approvalId)).resource, { identifier, name: identifier });
  });
});

it('invalid_binding_message for one that shows nothing', async () => {
  const [client, { personId }] = [await asker(), await member()];
  for (const binding_message of ['\u200B\u200B', '\u3164', '\u2800'])
    assert.equal(
      (await bcAuthorize(client, { login_hint: personId, binding_message, resource: api.identifier })).json
        .error,
      'invalid_binding_message',
    );
});

it('an agent is told when another person cancels its request, not when it does so itself', async () => {
  const [client, { personId }] = [
    await asker({ notificationUri: 'https://receiver.test/ping' }),
    await member(),
  ];
  const pings = async (token: () => Promise<string>) => {
    const fields = { login_hint: personId, client_notification_token: 'token' };
    const { approvalId } = await request(client, fields);
    const { status } = await t.call('DELETE', `/api/v1/approvals/${approvalId}`, { token: await token() });
    assert.equal(status, 204);
    const sql = "select 1 from approval_notifications where approval_id = $1 and kind = 'ping'";
    return (await t.sql(sql, [approvalId])).length;
  };
  assert.equal(await pings(() => t.token()), 1);
  assert.equal(await pings(() => t.token(undefined, client.agent)), 0);
});
