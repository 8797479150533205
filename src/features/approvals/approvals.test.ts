/** The way of a request: asking, deciding, polling, and its ends. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { Answer } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { createApprovalScenario, ownApprovals } from '../../../test/support/scenarios/approvals.ts';

const scenario = await createApprovalScenario();
const { t, operate, api, asker, bcAuthorize, request, poll, decide, read, setPolicy, member, admin } =
  scenario;
const { organizationId, isActive, publicClient, refresh, provider } = scenario;

const payment = { type: 'payment', amount: 120, currency: 'EUR' };

type Answered = Pick<Answer, 'status' | 'json' | 'text'>;
const assertError = ({ status, json, text }: Answered, error: string, code = 400) =>
  assert.deepEqual([status, json.error], [code, error], text);
const assertCode = ({ status, json, text }: Answered, code: string, wanted: number) =>
  assert.deepEqual([status, json.code], [wanted, code], text);
const succeed = (answer: Answered) => {
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const events = async (approvalId: string) =>
  (
    await t.sql<{ action: string }>(
      "select action from audit_events where metadata ->> 'approvalId' = $1 order by occurred_at, event_id",
      [approvalId],
    )
  ).map(({ action }) => action);

/** A member with an e-mail. */
const withEmail = async (verified = true) => {
  const login = `person-${randomUUID()}`;
  const email = `${login}@example.com`;
  provider.accounts[login] = { email, email_verified: verified };
  return { ...(await member(login)), email };
};

describe('an approval', () => {
  it('from the request to a token for exactly this action, with events', async () => {
    const client = await asker();
    const { email } = await operate('PATCH', `/agents/${client.agentId}`, {
      displayName: 'ceo@company.example',
    });
    const { browser, personId } = await member();
    const asked = succeed(
      await bcAuthorize(client, {
        login_hint: personId,
        binding_message: 'Pay invoice 17',
        authorization_details: JSON.stringify([payment]),
        access_expires_in: '600',
      }),
    );
    assert.deepEqual([asked.expires_in, asked.interval], [600, 5]);
    const { auth_req_id: authReqId, approval_id: approvalId } = asked;
    assertError(await poll(client, authReqId), 'authorization_pending');

    const list = succeed(await browser.request(`${ownApprovals}?status=pending`));
    assert.equal(list.total, 1);
    const [shown] = list.data;
    assert.deepEqual(
      [shown.approvalId, shown.agentId, shown.bindingMessage, shown.authorizationDetails, shown.status],
      [approvalId, client.agentId, 'Pay invoice 17', [payment], 'pending'],
    );
    assert.deepEqual(shown.resource, { identifier: api.identifier, name: api.name });
    assert.equal(shown.agentName, email, 'not the display name, which proves nothing');
    assert.ok(shown.url.endsWith(`/console/approvals/${approvalId}`));

    const decided = succeed(await decide(browser, approvalId));
    assert.deepEqual([decided.status, decided.decidedBy], ['approved', personId]);
    assert.ok(decided.chainId && decided.decidedAt);
    const tokens = succeed(await poll(client, authReqId));
    assert.deepEqual(tokens.authorization_details, [payment]);
    const claims = decodeJwt(tokens.access_token);
    assert.deepEqual(
      [claims.sub, claims.sub_profile, claims.client_id, claims.scope, claims.authorization_details],
      [personId, 'person', client.agentId, 'orders:write', [payment]],
    );
    assert.ok(Number(claims.exp) - Number(claims.iat) <= 600);
    const introspected = (
      await t.form('/api/v1/token/introspect', { token: tokens.access_token }, await t.token())
    ).json;
    assert.deepEqual([introspected.active, introspected.authorization_details], [true, [payment]]);
    // Once, and a refresh token while the access lasts.
    assertError(await poll(client, authReqId), 'invalid_grant');
    const next = succeed(await refresh(client, tokens.refresh_token));
    assert.deepEqual(decodeJwt(next.access_token).authorization_details, [payment]);
    t.clock.advance(600_001);
    assertError(await refresh(client, next.refresh_token), 'invalid_grant');
    assert.deepEqual(await events(approvalId), ['approval.requested', 'approval.approved']);
    const recorded = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where metadata ->> 'approvalId' = $1 order by occurred_at, event_id",
      [approvalId],
    );
    for (const { metadata } of recorded) assert.deepEqual(metadata.authorizationDetails, [payment]);
    const [event, decision] = recorded;
    assert.deepEqual([decision?.metadata.decidedBy, decision?.metadata.chainId], [personId, decided.chainId]);
    assert.ok(String(event?.metadata.url).endsWith(`/console/approvals/${approvalId}`));
  });

  it('with details alone the token has no scope', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, {
      login_hint: personId,
      scope: undefined,
      authorization_details: JSON.stringify([payment]),
    });
    succeed(await decide(browser, approvalId));
    const { access_token, scope } = succeed(await poll(client, authReqId));
    assert.equal(scope, '');
    assert.equal(await isActive(access_token), true);
    // The person may lend nothing there any more.
    await operate('PATCH', `/resources/${api.resourceId}`, { peopleScopes: [] });
    assert.equal(await isActive(access_token), false);
    await operate('PATCH', `/resources/${api.resourceId}`, { peopleScopes: ['orders:read', 'orders:write'] });
  });

  it('narrower: scopes and time of the decision count; wider is refused', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, {
      login_hint: personId,
      scope: 'orders:read orders:write',
    });
    for (const wider of [{ scopes: ['orders:read', 'refund'] }, { accessExpiresIn: 3_601 }])
      assertCode(
        await decide(browser, approvalId, { decision: 'approve', ...wider }),
        'VALIDATION_ERROR',
        400,
      );
    const decided = succeed(
      await decide(browser, approvalId, {
        decision: 'approve',
        scopes: ['orders:read'],
        accessExpiresIn: 60,
        allowRedelegation: true,
      }),
    );
    assert.deepEqual([decided.scopes, decided.accessExpiresIn], [['orders:read'], 60]);
    const { access_token, expires_in, scope } = succeed(await poll(client, authReqId));
    assert.deepEqual([scope, expires_in <= 60], ['orders:read', true]);
    const [chain] = (await operate('GET', `/delegations?personId=${personId}&subjectType=person`)).data;
    assert.deepEqual([chain.origin, chain.allowRedelegation], ['approval', true]);
    assert.equal(await isActive(access_token), true);
  });

  it('denied: access_denied for good, and a second decision is 409', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId });
    const { status, decidedBy } = succeed(await decide(browser, approvalId, { decision: 'deny' }));
    assert.deepEqual([status, decidedBy], ['denied', personId]);
    for (let round = 0; round < 2; round += 1) assertError(await poll(client, authReqId), 'access_denied');
    for (const decision of ['approve', 'deny'])
      assertCode(await decide(browser, approvalId, { decision }), 'APPROVAL_NOT_PENDING', 409);
    assert.deepEqual(await events(approvalId), ['approval.requested', 'approval.denied']);
  });

  it('of two decisions at the same moment one wins', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { approvalId } = await request(client, { login_hint: personId });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        decide(browser, approvalId, { decision: index % 2 ? 'approve' : 'deny' }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
    assert.equal((await events(approvalId)).length, 2);
  });

  it('lapses: expired_token, expired in the list at once, an event within a minute; 409 for the person', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId, requested_expiry: '30' });
    t.clock.advance(30_001);
    assertCode(await decide(browser, approvalId), 'APPROVAL_NOT_PENDING', 409);
    assertError(await poll(client, authReqId), 'expired_token');
    assert.equal((await read(approvalId)).status, 'expired');
    t.app.loops.start();
    await until(
      'the event',
      async () => (await events(approvalId)).includes('approval.expired') || undefined,
    );
    await t.app.loops.stop();
    assert.deepEqual(await events(approvalId), ['approval.requested', 'approval.expired']);
    assertError(await poll(client, authReqId), 'expired_token');
  });

  it('canceled by the agent or an admin, by no other agent', async () => {
    const [client, other] = [await asker(), await asker()];
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId });
    const cancel = async (token: string, id = approvalId) =>
      t.call('DELETE', `/api/v1/approvals/${id}`, { token });
    assertCode(await cancel(await t.token(undefined, other.agent)), 'APPROVAL_NOT_FOUND', 404);
    assertCode(await cancel(await t.token(), randomUUID()), 'APPROVAL_NOT_FOUND', 404);
    assert.equal((await cancel(await t.token(undefined, client.agent))).status, 204);
    assertCode(await cancel(await t.token(undefined, client.agent)), 'APPROVAL_NOT_PENDING', 409);
    assertError(await poll(client, authReqId), 'access_denied');
    assertCode(await decide(browser, approvalId), 'APPROVAL_NOT_PENDING', 409);
    const second = await request(client, { login_hint: personId });
    assert.equal((await cancel(await t.token(), second.approvalId)).status, 204);
    assert.deepEqual(await events(second.approvalId), ['approval.requested', 'approval.canceled']);
  });

  it('the suspension of the agent cancels its open requests; that of the person leaves them undecided', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { approvalId } = await request(client, { login_hint: personId });
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' });
    assert.equal((await read(approvalId)).status, 'canceled');
    assert.deepEqual(await events(approvalId), ['approval.requested', 'approval.canceled']);
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'active' });
    const second = await request(client, { login_hint: personId });
    await operate('PATCH', `/organizations/${organizationId}/people/${personId}`, { status: 'suspended' });
    assertCode(await decide(browser, second.approvalId), 'UNAUTHORIZED', 401);
    assertError(await bcAuthorize(client, { login_hint: personId }), 'unknown_user_id');
  });

  it('403 for scopes that the person may not lend, also when that changed since the request', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const resource = await scenario.makeResource({ peopleScopes: ['orders:read'] });
    const fields = { login_hint: personId, resource: resource.identifier };
    const never = await request(client, { ...fields, scope: 'orders:write' });
    assertCode(await decide(browser, never.approvalId), 'FORBIDDEN', 403);
    const narrowed = await request(client, { ...fields, scope: 'orders:read' });
    await operate('PATCH', `/resources/${resource.resourceId}`, { peopleScopes: [] });
    assertCode(await decide(browser, narrowed.approvalId), 'FORBIDDEN', 403);
    assert.equal((await read(narrowed.approvalId)).status, 'pending');
    // Denying needs no power.
    succeed(await decide(browser, narrowed.approvalId, { decision: 'deny' }));
  });
});

describe('who decides', () => {
  it('404 for a person it is not addressed to; 403 without a person; no token of an agent', async () => {
    const client = await asker();
    const [{ personId, browser }, other] = [await member(), await member()];
    const { approvalId } = await request(client, { login_hint: personId });
    for (const id of [approvalId, randomUUID()])
      assertCode(await decide(other.browser, id), 'APPROVAL_NOT_FOUND', 404);
    assert.equal((await other.browser.request(ownApprovals)).json.total, 0);
    const session = scenario.newBrowser();
    const { agentId: clientId, clientSecret } = await t.agent();
    await session.change('POST', '/console/api/session', { clientId, clientSecret });
    assertCode(await decide(session, approvalId), 'FORBIDDEN', 403);
    assertCode(await session.request(ownApprovals), 'FORBIDDEN', 403);
    const answer = await t.call('POST', `${ownApprovals}/${approvalId}`, {
      token: await t.token(),
      payload: { decision: 'approve' },
      headers: { 'x-countersign-console': '1', 'sec-fetch-site': 'same-origin' },
    });
    assertCode(answer, 'UNAUTHORIZED', 401);
    succeed(await decide(browser, approvalId));
  });

  it('approvers: those of the resource, otherwise the admins; the first decision counts', async () => {
    const client = await asker();
    const [approver, another, person] = [await member(), await member(), await member()];
    const resource = await scenario.makeResource({ approvers: [approver.personId, another.personId] });
    const fields = { login_hint: 'approvers', resource: resource.identifier, scope: 'orders:write' };
    const { approvalId } = await request(client, fields);
    assertCode(await decide(person.browser, approvalId), 'APPROVAL_NOT_FOUND', 404);
    assert.equal((await another.browser.request(ownApprovals)).json.total, 1);
    const decided = succeed(await decide(approver.browser, approvalId));
    assert.deepEqual([decided.requestedFor, decided.personId], ['approvers', null]);
    assertCode(await decide(another.browser, approvalId), 'APPROVAL_NOT_PENDING', 409);
    // Without approvers.
    const bare = await scenario.makeResource();
    const boss = await admin();
    const second = await request(client, { ...fields, resource: bare.identifier });
    assertCode(await decide(approver.browser, second.approvalId), 'APPROVAL_NOT_FOUND', 404);
    succeed(await decide(boss.browser, second.approvalId));
    await operate('PATCH', `/organizations/${organizationId}/people/${boss.personId}`, {
      status: 'suspended',
    });
    assertError(await bcAuthorize(client, { ...fields, resource: bare.identifier }), 'unknown_user_id');
  });

  it('by verified e-mail; unknown_user_id for anything else', async () => {
    const client = await asker();
    const { personId, email } = await withEmail();
    const unverified = await withEmail(false);
    for (const hint of ['unknown@example.com', randomUUID(), 'approver', 'x'.repeat(300), unverified.email])
      assertError(await bcAuthorize(client, { login_hint: hint }), 'unknown_user_id');
    const { approvalId } = await request(client, { login_hint: email.toUpperCase() });
    assert.equal((await read(approvalId)).personId, personId);
  });
});

describe('rules of an organization', () => {
  it('maxAccessSeconds limits what may be asked, and what a later decision gives', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const before = await request(client, { login_hint: personId, access_expires_in: '3600' });
    await setPolicy({ maxAccessSeconds: 120 });
    assertError(
      await bcAuthorize(client, { login_hint: personId, access_expires_in: '121' }),
      'invalid_request',
    );
    const withDefault = await request(client, { login_hint: personId });
    assert.equal((await read(withDefault.approvalId)).accessExpiresIn, 120);
    const longer = { decision: 'approve', accessExpiresIn: 121 };
    assertCode(await decide(browser, before.approvalId, longer), 'VALIDATION_ERROR', 400);
    assert.equal(succeed(await decide(browser, before.approvalId)).accessExpiresIn, 120);
    await setPolicy({});
  });

  it('selfApproval: who registered the agent in the console, or owns it, gets 403', async () => {
    const boss = await admin();
    const created = await boss.browser.change('POST', '/console/api/v1/agents', {
      email: `${randomUUID()}@agents.example.com`,
      agentType: 'custom',
      version: '1.0.0',
      capabilities: ['orders:pay'],
      owner: 'team',
      deploymentEnv: 'production',
    });
    assert.equal(created.status, 201, created.text);
    const { agentId } = created.json;
    const { clientSecret } = await operate('POST', `/agents/${agentId}/credentials`, {});
    const own = { credentials: { client_id: agentId, client_secret: clientSecret } };
    const mine = await request(own, { login_hint: boss.personId });
    assertCode(await decide(boss.browser, mine.approvalId), 'FORBIDDEN', 403);
    const { personId, browser, email } = await withEmail();
    const owned = await asker({ owner: email.toUpperCase() });
    const theirs = await request(owned, { login_hint: personId });
    assertCode(await decide(browser, theirs.approvalId), 'FORBIDDEN', 403);
    await setPolicy({ selfApproval: true });
    succeed(await decide(browser, theirs.approvalId));
    succeed(await decide(boss.browser, mine.approvalId));
    await setPolicy({});
  });

  it('requireTwo: pending after the first, the narrowest of both, of different people', async () => {
    const client = await asker();
    const [one, two, three] = [await member(), await member(), await member()];
    const approvers = [one, two, three].map(({ personId }) => personId);
    const resource = await scenario.makeResource({ approvers });
    await setPolicy({ requireTwo: [resource.identifier] });
    const fields = {
      login_hint: 'approvers',
      resource: resource.identifier,
      scope: 'orders:read orders:write',
    };
    const { authReqId, approvalId } = await request(client, fields);
    const first = succeed(
      await decide(one.browser, approvalId, { decision: 'approve', accessExpiresIn: 300 }),
    );
    assert.deepEqual(
      [
        first.status,
        first.requiredApprovals,
        first.approvals.map(({ personId }: { personId: string }) => personId),
      ],
      ['pending', 2, [one.personId]],
    );
    assertError(await poll(client, authReqId), 'authorization_pending');
    assertCode(await decide(one.browser, approvalId), 'APPROVAL_NOT_PENDING', 409);
    const second = succeed(
      await decide(two.browser, approvalId, {
        decision: 'approve',
        scopes: ['orders:read'],
        allowRedelegation: true,
      }),
    );
    assert.deepEqual(
      [second.status, second.scopes, second.accessExpiresIn, second.decidedBy, second.approvals.length],
      ['approved', ['orders:read'], 300, two.personId, 2],
    );
    succeed(await poll(client, authReqId));
    assert.deepEqual(await events(approvalId), [
      'approval.requested',
      'approval.supported',
      'approval.approved',
    ]);
    // The word of a person who may not lend any more does not count.
    const third = await request(client, fields);
    succeed(await decide(one.browser, third.approvalId));
    await operate('PATCH', `/organizations/${organizationId}/people/${one.personId}`, {
      status: 'suspended',
    });
    assert.equal(succeed(await decide(two.browser, third.approvalId)).status, 'pending');
    assert.equal(succeed(await decide(three.browser, third.approvalId)).status, 'approved');
    await setPolicy({});
  });
});

describe('POST /bc-authorize', () => {
  const hint = async () => (await member()).personId;

  it('400 with the code of the field', async () => {
    const client = await asker();
    const login_hint = await hint();
    const cases: [Record<string, string | undefined>, string][] = [
      [{ login_hint: undefined }, 'invalid_request'],
      [{ resource: undefined }, 'invalid_request'],
      [{ resource: 'https://unknown.example' }, 'invalid_target'],
      [{ resource: 'no uri' }, 'invalid_target'],
      [{ scope: undefined }, 'invalid_request'],
      [{ scope: 'unknown' }, 'invalid_scope'],
      [{ scope: 'a"b' }, 'invalid_scope'],
      [{ resource: scenario.issuer, scope: 'admin:orgs' }, 'invalid_scope'],
      [{ binding_message: 'x'.repeat(201) }, 'invalid_binding_message'],
      [{ binding_message: 'x'.repeat(5_000) }, 'invalid_binding_message'],
      [{ binding_message: 'a\u202Eb' }, 'invalid_binding_message'],
      [{ binding_message: 'a\nb' }, 'invalid_binding_message'],
      [{ binding_message: '   ' }, 'invalid_binding_message'],
      [{ requested_expiry: '29' }, 'invalid_request'],
      [{ requested_expiry: '86401' }, 'invalid_request'],
      [{ requested_expiry: '1e3' }, 'invalid_request'],
      [{ access_expires_in: '59' }, 'invalid_request'],
      [{ access_expires_in: '86401' }, 'invalid_request'],
      [{ client_notification_token: 'token' }, 'invalid_request'],
      [{ client_notification_token: 'a b' }, 'invalid_request'],
      [{ authorization_details: '{' }, 'invalid_authorization_details'],
      [{ authorization_details: '[{"type":"other"}]' }, 'invalid_authorization_details'],
      [
        { authorization_details: JSON.stringify([{ ...payment, amount: 'x' }]) },
        'invalid_authorization_details',
      ],
      [{ authorization_details: '[]' }, 'invalid_authorization_details'],
    ];
    for (const [fields, error] of cases) {
      const answer = await bcAuthorize(client, { login_hint, ...fields });
      assert.deepEqual([answer.status, answer.json.error], [400, error], JSON.stringify(fields));
    }
    const twice = await t.call('POST', '/api/v1/bc-authorize', {
      payload: `${new URLSearchParams({ ...client.credentials, login_hint, scope: 'orders:read' })}&resource=${encodeURIComponent(api.identifier)}&resource=${encodeURIComponent(api.identifier)}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assertError(twice, 'invalid_target');
    const { error_description } = (
      await bcAuthorize(client, {
        login_hint,
        authorization_details: JSON.stringify([payment, { ...payment, amount: -1 }]),
      })
    ).json;
    assert.match(error_description, /\/1\/amount/);
  });

  it('200 at the bounds of each field, and with HTTP Basic', async () => {
    const client = await asker();
    const login_hint = await hint();
    for (const [requested_expiry, access_expires_in] of [
      ['30', '60'],
      ['86400', '86400'],
    ]) {
      const { json } = await bcAuthorize(client, { login_hint, requested_expiry, access_expires_in });
      const { accessExpiresIn } = await read(json.approval_id);
      assert.deepEqual(
        [json.expires_in, accessExpiresIn],
        [Number(requested_expiry), Number(access_expires_in)],
      );
    }
    const { clientId, clientSecret } = client.agent;
    const byBasic = await t.call('POST', '/api/v1/bc-authorize', {
      payload: `${new URLSearchParams({ login_hint, scope: 'orders:read', resource: api.identifier })}`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      },
    });
    assert.equal(byBasic.status, 200, byBasic.text);
    assert.equal((await read(byBasic.json.approval_id)).accessExpiresIn, 3_600);
  });

  it('unknown_user_id in the same words for everybody who cannot decide', async () => {
    const client = await asker();
    const suspended = await hint();
    await operate('PATCH', `/organizations/${organizationId}/people/${suspended}`, { status: 'suspended' });
    const retired = await member();
    const resource = await scenario.makeResource({ approvers: [retired.personId] });
    await operate('PATCH', `/organizations/${organizationId}/people/${retired.personId}`, {
      status: 'suspended',
    });
    const answers = [
      await bcAuthorize(client, { login_hint: randomUUID() }),
      await bcAuthorize(client, { login_hint: 'unknown@example.com' }),
      await bcAuthorize(client, { login_hint: suspended }),
      await bcAuthorize(client, { login_hint: 'approvers', resource: resource.identifier }),
    ];
    for (const answer of answers) assertError(answer, 'unknown_user_id');
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  });

  it('401 invalid_client without a good proof, 400 unauthorized_client for a public client', async () => {
    const login_hint = await hint();
    const client = await asker();
    for (const credentials of [
      {},
      { client_id: randomUUID(), client_secret: 'x' },
      { client_id: client.clientId },
      { client_id: '' },
      { client_id: 'x', client_secret: '' },
    ])
      assertError(
        await bcAuthorize({ credentials: credentials as Record<string, string> }, { login_hint }),
        'invalid_client',
        401,
      );
    assertError(await bcAuthorize(await publicClient(), { login_hint }), 'unauthorized_client');
    const wrong = { credentials: { client_id: client.clientId, client_secret: 'cs_wrong' } };
    assertError(await bcAuthorize(wrong, { login_hint }), 'invalid_client', 401);
    const recorded = await t.sql<{ operation: string }>(
      "select metadata ->> 'operation' as operation from audit_events where action = 'authentication.refused' and agent_id = $1",
      [client.agentId],
    );
    assert.deepEqual(recorded, [{ operation: 'requestApproval' }]);
  });

  it('a person of another organization is unknown, and its resources are no target', async () => {
    const client = await asker();
    const other = await operate('POST', '/organizations', { name: 'Other', slug: `other-${randomUUID()}` });
    const connection = await scenario.connect(other.organizationId);
    const browser = scenario.newBrowser();
    await scenario.logIn(browser, scenario.startOf(connection.connectionId), `p-${randomUUID()}`);
    const { personId } = (await browser.request('/console/api/session')).json.person;
    assertError(await bcAuthorize(client, { login_hint: personId }), 'unknown_user_id');
    const own = await request(client, { login_hint: await hint() });
    assertCode(await decide(browser, own.approvalId), 'APPROVAL_NOT_FOUND', 404);
  });

  it('429 beyond 20 open requests of an agent', async () => {
    const client = await asker();
    const login_hint = await hint();
    const answers = await Promise.all(Array.from({ length: 22 }, () => bcAuthorize(client, { login_hint })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(20).fill(200), 429, 429]);
  });

  it('for our own API the person lends scopes of the console', async () => {
    const client = await asker();
    const boss = await admin();
    const { authReqId, approvalId } = await request(client, {
      login_hint: boss.personId,
      resource: scenario.issuer,
      scope: 'agents:read',
    });
    succeed(await decide(boss.browser, approvalId));
    const { access_token } = succeed(await poll(client, authReqId));
    assert.equal((await t.call('GET', '/api/v1/agents', { token: access_token })).status, 200);
    // It acts for the person, and still cannot decide.
    const { approvalId: next } = await request(client, { login_hint: boss.personId });
    const answer = await t.call('POST', `${ownApprovals}/${next}`, {
      token: access_token,
      payload: { decision: 'approve' },
    });
    assert.ok([401, 403].includes(answer.status), answer.text);
  });
});

describe('polling', () => {
  it('the first at once; too soon is slow_down and grows; a decided one never', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId });
    assertError(await poll(client, authReqId), 'authorization_pending');
    assertError(await poll(client, authReqId), 'slow_down');
    t.clock.advance(5_001);
    assertError(await poll(client, authReqId), 'slow_down');
    t.clock.advance(15_001);
    assertError(await poll(client, authReqId), 'authorization_pending');
    succeed(await decide(browser, approvalId));
    succeed(await poll(client, authReqId));
    const recorded = await t.sql(
      "select 1 from audit_events where action = 'token.refused' and agent_id = $1",
      [client.agentId],
    );
    assert.equal(recorded.length, 0);
  });

  it('invalid_grant for an unknown id and that of another agent; 20 at once give tokens once', async () => {
    const [client, other] = [await asker(), await asker()];
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId });
    succeed(await decide(browser, approvalId));
    const foreign = await poll(other, authReqId);
    assertError(foreign, 'invalid_grant');
    assert.deepEqual((await poll(other, 'unknown')).json, foreign.json);
    assertError(await poll(client, ''), 'invalid_request');
    assertError(
      await poll({ credentials: { client_id: client.clientId } }, authReqId),
      'invalid_client',
      401,
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(client, authReqId)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const { status, json } of answers) assert.ok(status === 200 || json.error === 'invalid_grant');
  });

  it('the token can carry some of the approved details; what was not approved is refused, and the id stays usable', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const other = { ...payment, amount: 7 };
    const { authReqId, approvalId } = await request(client, {
      login_hint: personId,
      authorization_details: JSON.stringify([payment, other]),
    });
    succeed(await decide(browser, approvalId));
    const narrowed = (...details: object[]) => ({ authorization_details: JSON.stringify(details) });
    assertError(
      await poll(client, authReqId, narrowed({ ...payment, amount: 8 })),
      'invalid_authorization_details',
    );
    assertError(await poll(client, authReqId, { resource: 'https://other.example' }), 'invalid_target');
    const tokens = succeed(await poll(client, authReqId, narrowed(other)));
    assert.deepEqual(decodeJwt(tokens.access_token).authorization_details, [other]);
  });

  it('nothing once the person has revoked the access in My agents', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId });
    const { chainId } = succeed(await decide(browser, approvalId));
    assert.equal((await browser.change('DELETE', `/console/api/me/delegations/${chainId}`)).status, 204);
    assertError(await poll(client, authReqId), 'invalid_grant');
  });
});

describe('GET /approvals', () => {
  it('the organization, by status and agent, with audit:read; one for the agent that asked', async () => {
    const client = await asker();
    const { browser, personId } = await member();
    const [one, two] = [
      await request(client, { login_hint: personId }),
      await request(client, { login_hint: personId }),
    ];
    succeed(await decide(browser, one.approvalId, { decision: 'deny' }));
    const idsOf = async (query: string) =>
      (await operate('GET', `/approvals?agentId=${client.agentId}${query}`)).data.map(
        ({ approvalId }: { approvalId: string }) => approvalId,
      );
    assert.deepEqual(await idsOf(''), [two.approvalId, one.approvalId]);
    assert.deepEqual(await idsOf('&status=pending'), [two.approvalId]);
    assert.deepEqual(await idsOf('&status=denied'), [one.approvalId]);
    assert.deepEqual(Object.keys(await read(two.approvalId)).sort(), [
      ...['accessExpiresIn', 'agentId', 'approvalId', 'approvals', 'authorizationDetails', 'bindingMessage'],
      ...['chainId', 'createdAt', 'decidedAt', 'decidedBy', 'expiresAt', 'organizationId', 'personId'],
      ...['requestedFor', 'requiredApprovals', 'resource', 'scopes', 'status'],
    ]);
    const reader = await t.agent({ allowedScopes: ['agents:read'] });
    const get = async (agent: typeof reader) =>
      t.call('GET', `/api/v1/approvals/${one.approvalId}`, { token: await t.token(undefined, agent) });
    assertCode(await get(reader), 'APPROVAL_NOT_FOUND', 404);
    assert.equal((await get(client.agent)).status, 200);
    assert.equal(
      (await t.call('GET', '/api/v1/approvals', { token: await t.token(undefined, reader) })).status,
      403,
    );
  });
});
