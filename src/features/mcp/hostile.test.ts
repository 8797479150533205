/** Callers of the MCP server who want more than their token gives. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, startOfMinute } from '../../../test/support/harness.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';
import { baseUrl } from '../../../test/support/scenarios/authorization.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createMcpClient, message } from '../../../test/support/scenarios/mcp.ts';

const scenario = await createApprovalScenario();
const { t, operate, asker, api } = scenario;
const { personId } = await scenario.admin();
const { post, call, refusal, tenant, tokenOf } = createMcpClient(t);
const { createDelegation, redeem } = createDelegationClient(t);

const eventsOf = (action: string, agentId: string) =>
  t.sql<{ metadata: Record<string, unknown>; ip: string; agent: string }>(
    `select metadata, ip_address as ip, user_agent as agent from audit_events
     where action = $1 and agent_id = $2 order by event_id desc`,
    [action, agentId],
  );

describe('one request', () => {
  it('400 VALIDATION_ERROR for many messages in one: each counts', async () => {
    const token = await tokenOf(await tenant());
    const read = message('resources/read', { uri: 'countersign://openapi.json' });
    const { status, json } = await post(Array.from({ length: 100 }, () => read) as object, { token });
    assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
  });

  it('403 FORBIDDEN for a page of another site, unless CORS_ORIGIN names it', async () => {
    const token = await t.token();
    const headers = { origin: 'https://host.example' };
    assert.equal((await post(message('tools/list'), { token, headers })).status, 403);
    for (const CORS_ORIGIN of ['https://other.example,https://host.example', '*']) {
      const other = await startApp({ BASE_URL: baseUrl, CORS_ORIGIN }, t);
      const client = createMcpClient(other);
      assert.equal((await client.post(message('tools/list'), { token, headers })).status, 200);
      const foreign = { origin: 'https://host.example.evil' };
      const { status } = await client.post(message('tools/list'), { token, headers: foreign });
      assert.equal(status, CORS_ORIGIN === '*' ? 200 : 403);
    }
  });

  it('an error of the protocol for arguments of another form, and for a tool that does not exist', async () => {
    const token = await tokenOf(await tenant());
    for (const [name, args] of [
      ['find_agents', { limit: 10_000 }],
      ['find_agents', { text: { '': '' } }],
      ['wait_for_approval', { approvalId: '../agents' }],
      ['who_acted_for_whom', { hours: -1 }],
      ['__proto__', {}],
      ['drop_all', {}],
    ] as const) {
      const { text } = await post(message('tools/call', { name, arguments: args }), { token });
      assert.match(text, /"isError":true|"error":/, name);
      assert.doesNotMatch(text, /at \w+ \(|node_modules|\.ts:/, name);
    }
  });
});

describe('a delegated token', () => {
  it('reads what was lent, is refused the rest, and asks for no approval', async () => {
    const [lender, borrower] = [await tenant(), await tenant()];
    const [{ organization_id: id }] = (await t.sql<{ organization_id: string }>(
      'select organization_id from agents where agent_id = $1',
      [lender.agentId],
    )) as [{ organization_id: string }];
    await t.sql('update agents set organization_id = $1 where agent_id = $2', [id, borrower.agentId]);
    const chain = await createDelegation(await tokenOf(lender), borrower, ['agents:read']);
    const token = await redeem(borrower, chain);
    const { agents } = await call(token, 'find_agents', { text: lender.agentId });
    assert.equal(agents.length, 1);
    const log = await post(message('tools/call', { name: 'verify_the_log', arguments: {} }), { token });
    assert.equal(log.status, 403);
    const asked = { resource: api.identifier, scopes: ['orders:write'], message: 'Please' };
    assert.match(await refusal(token, 'request_approval', asked), /unauthorized_client: a delegated token/);
    const [event] = await eventsOf('policy.refused', borrower.agentId);
    assert.deepEqual(
      [event?.metadata.operation, event?.metadata.reason],
      ['requestApproval', 'delegated token'],
    );
  });
});

describe('an agent that asks a person', () => {
  it('leaves the event of the request, with its own address and program', async () => {
    const client = await asker();
    const token = await tokenOf(client.agent);
    const asked = {
      resource: api.identifier,
      scopes: ['orders:write'],
      person: personId,
      message: 'Refund order 17',
    };
    const headers = { 'user-agent': 'assistant/1.0' };
    await post(message('tools/call', { name: 'request_approval', arguments: asked }), { token, headers });
    const [event] = await eventsOf('approval.requested', client.agentId);
    assert.deepEqual([event?.ip, event?.agent], ['127.0.0.1', 'assistant/1.0']);
  });

  it('gets no answer about the request of another agent, and cannot redeem it', async () => {
    const [client, other] = [await asker(), await asker({ allowedScopes: [] })];
    const { approvalId } = await call(await tokenOf(client.agent), 'request_approval', {
      resource: api.identifier,
      scopes: ['orders:write'],
      person: personId,
      message: 'Refund order 17',
    });
    const foreign = await tokenOf(other.agent);
    assert.match(await refusal(foreign, 'wait_for_approval', { approvalId }), /APPROVAL_NOT_FOUND/);
    assert.equal((await scenario.poll(other, approvalId)).json.error, 'invalid_grant');
    assert.equal((await scenario.poll(client, approvalId)).json.error, 'authorization_pending');
    // The id of a request that was made at the endpoint itself redeems nothing.
    const direct = await scenario.request(client, { login_hint: personId });
    assert.equal((await scenario.poll(client, direct.approvalId)).json.error, 'invalid_grant');
  });

  it('is refused while it waits, as soon as its token has ended', async () => {
    const client = await asker();
    const token = await tokenOf(client.agent);
    const { approvalId } = await call(token, 'request_approval', {
      resource: api.identifier,
      scopes: ['orders:write'],
      person: personId,
      message: 'Refund order 17',
    });
    const waiting = refusal(token, 'wait_for_approval', { approvalId, seconds: 20 });
    await sleep(500);
    await t.form('/api/v1/token/revoke', { token }, token);
    assert.match(await waiting, /UNAUTHORIZED|ended since the request began/);
  });
});

describe('limits', () => {
  it('429 of the agent ends the request, and the operations behind a tool', async () => {
    const agent = await tenant();
    await operate('PATCH', `/agents/${agent.agentId}`, { rateLimitPerMinute: 5 });
    startOfMinute(t.clock);
    // The token, the first request, and the two operations behind its tool.
    const token = await tokenOf(agent);
    const answers: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { status, text } = await post(
        message('tools/call', { name: 'what_can_agent_do', arguments: { agent: agent.agentId } }),
        { token },
      );
      answers.push(`${status} ${/RATE_LIMIT_EXCEEDED/.test(text)}`);
    }
    assert.deepEqual(answers.slice(1), ['200 true', '429 true']);
  });

  it('an answer about a failure of the server says nothing about it', async () => {
    const other = await startApp({ BASE_URL: baseUrl }, t);
    const client = createMcpClient(other);
    const agent = await tenant();
    const token = await tokenOf(agent);
    await t.sql('alter table approvals rename column binding_message to other');
    try {
      const text = await client.refusal(token, 'wait_for_approval', { approvalId: randomUUID() });
      assert.match(text, /INTERNAL_SERVER_ERROR/);
      const asked = { resource: api.identifier, scopes: ['orders:write'], person: personId, message: 'x' };
      const failed = await client.refusal(await tokenOf((await asker()).agent), 'request_approval', asked);
      assert.match(failed, /INTERNAL_SERVER_ERROR/);
      for (const one of [text, failed]) assert.doesNotMatch(one, /column|select|insert|binding/i);
    } finally {
      await t.sql('alter table approvals rename column other to binding_message');
    }
  });
});
