import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const token = await t.token();
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(t.clock.now() + days * dayMs).toISOString();

const path = (agentId: string, credentialId = '') =>
  `/api/v1/agents/${agentId}/credentials${credentialId && `/${credentialId}`}`;
const generate = async (agentId: string, payload?: object) =>
  (await t.call('POST', path(agentId), { token, ...(payload && { payload }) })).json;
const rotate = (agentId: string, credentialId: string, payload?: object) =>
  t.call('POST', `${path(agentId, credentialId)}/rotate`, { token, ...(payload && { payload }) });
const revoke = (agentId: string, credentialId: string) =>
  t.call('DELETE', path(agentId, credentialId), { token });
const list = async (agentId: string, query = '') =>
  (await t.call('GET', path(agentId) + query, { token })).json;
const ask = async (clientId: string, clientSecret: string) =>
  (await t.askToken({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }))
    .status;
const eventsOf = async (credentialId: string) =>
  (
    await t.sql<{ action: string }>(
      "select action from audit_events where metadata->>'credentialId' = $1 and action like 'credential.%' order by occurred_at, event_id",
      [credentialId],
    )
  ).map(({ action }) => action);

describe('state transitions of a credential', () => {
  it('active, rotate: same id, the old secret ends at once, the new one is shown once', async () => {
    const agent = await t.agent();
    const before = await generate(agent.agentId);
    const { status, json, headers } = await rotate(agent.agentId, before.credentialId);
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    const { clientSecret, ...rest } = json;
    const { clientSecret: old, ...expected } = before;
    assert.deepEqual(rest, expected);
    assert.match(clientSecret, /^cs_/);
    assert.equal(await ask(agent.clientId, old), 401);
    assert.equal(await ask(agent.clientId, clientSecret), 200);
    assert.equal(await ask(agent.clientId, agent.clientSecret), 200, 'the other credential is untouched');
    assert.deepEqual(await eventsOf(before.credentialId), ['credential.generated', 'credential.rotated']);
  });
  it('active, DELETE: 204, revoked for good, its secret ends at once', async () => {
    const agent = await t.agent();
    const { credentialId, clientSecret } = await generate(agent.agentId);
    const answer = await revoke(agent.agentId, credentialId);
    assert.deepEqual([answer.status, answer.text], [204, '']);
    assert.equal(await ask(agent.clientId, clientSecret), 401);
    const revoked = (await list(agent.agentId, '?status=revoked')).data;
    assert.deepEqual(
      revoked.map((c: { credentialId: string }) => c.credentialId),
      [credentialId],
    );
    assert.notEqual(revoked[0].revokedAt, null);
    assert.deepEqual(await eventsOf(credentialId), ['credential.generated', 'credential.revoked']);
  });
  it('revoked, rotate and DELETE: 409 CREDENTIAL_ALREADY_REVOKED, unchanged', async () => {
    const { agentId } = await t.agent();
    const { credentialId } = await generate(agentId);
    await revoke(agentId, credentialId);
    const before = await list(agentId);
    for (const answer of [await rotate(agentId, credentialId), await revoke(agentId, credentialId)]) {
      assert.deepEqual([answer.status, answer.json.code], [409, 'CREDENTIAL_ALREADY_REVOKED']);
    }
    assert.deepEqual(await list(agentId), before);
  });
  it('expiry ends the secret without a change of status', async () => {
    const agent = await t.agent();
    const { clientSecret, credentialId } = await generate(agent.agentId, { expiresAt: inDays(1) });
    assert.equal(await ask(agent.clientId, clientSecret), 200);
    t.clock.advance(dayMs + 1);
    assert.equal(await ask(agent.clientId, clientSecret), 401);
    // The operator's own token has expired, too.
    const fresh = await t.token();
    const again = await t.call('POST', `${path(agent.agentId, credentialId)}/rotate`, { token: fresh });
    assert.deepEqual([again.status, again.json.code], [400, 'VALIDATION_ERROR']);
    const rotated = await t.call('POST', `${path(agent.agentId, credentialId)}/rotate`, {
      token: fresh,
      payload: { expiresAt: inDays(2) },
    });
    assert.equal(rotated.status, 200);
    assert.equal(await ask(agent.clientId, rotated.json.clientSecret), 200);
    t.clock.advance(-dayMs - 1);
  });
  it('rotation keeps the expiry, or takes the new one', async () => {
    const { agentId } = await t.agent();
    const { credentialId, expiresAt } = await generate(agentId, { expiresAt: inDays(30) });
    assert.equal((await rotate(agentId, credentialId)).json.expiresAt, expiresAt);
    const later = inDays(60);
    assert.equal((await rotate(agentId, credentialId, { expiresAt: later })).json.expiresAt, later);
    assert.equal((await rotate(agentId, credentialId, { expiresAt: inDays(-1) })).status, 400);
  });
});

describe('GET /agents/{agentId}/credentials', () => {
  it('200 pages newest first, filters by status, and never shows a secret', async () => {
    const { agentId } = await t.agent();
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.unshift((await generate(agentId)).credentialId);
    const page = await t.call('GET', `${path(agentId)}?limit=2&page=1`, { token });
    assert.deepEqual([page.json.total, page.json.page, page.json.limit], [4, 1, 2]);
    assert.deepEqual(
      page.json.data.map((c: { credentialId: string }) => c.credentialId),
      made.slice(0, 2),
    );
    assert.doesNotMatch(page.text, /secret/i);
    assert.deepEqual(Object.keys(page.json.data[0]).sort(), [
      'clientId',
      'createdAt',
      'credentialId',
      'expiresAt',
      'lastUsedAt',
      'name',
      'revokedAt',
      'status',
    ]);
    await revoke(agentId, made[0] ?? '');
    assert.equal((await list(agentId, '?status=active')).total, 3);
    assert.equal((await list(agentId, '?status=revoked')).total, 1);
  });
  it('400 VALIDATION_ERROR for an unknown status and a limit above 100', async () => {
    const { agentId } = await t.agent();
    assert.equal((await list(agentId, '?status=expired')).code, 'VALIDATION_ERROR');
    assert.equal((await list(agentId, '?limit=101')).code, 'VALIDATION_ERROR');
  });
});

describe('unknown ids', () => {
  it("404 CREDENTIAL_NOT_FOUND for another agent's credential under this agent's path, and nothing changes", async () => {
    const [a, b] = [await t.agent(), await t.agent()];
    const [{ credentialId }] = (await list(b.agentId)).data;
    for (const answer of [await rotate(a.agentId, credentialId), await revoke(a.agentId, credentialId)]) {
      assert.deepEqual([answer.status, answer.json.code], [404, 'CREDENTIAL_NOT_FOUND']);
    }
    assert.equal(await ask(b.clientId, b.clientSecret), 200);
  });
  it('404 AGENT_NOT_FOUND and CREDENTIAL_NOT_FOUND for unknown ids, 400 for malformed ones', async () => {
    const { agentId } = await t.agent();
    assert.equal((await rotate(randomUUID(), randomUUID())).json.code, 'AGENT_NOT_FOUND');
    assert.equal((await revoke(agentId, randomUUID())).json.code, 'CREDENTIAL_NOT_FOUND');
    assert.equal((await revoke(agentId, 'x')).json.code, 'VALIDATION_ERROR');
  });
});

describe('service_credentials_expiring_soon_total', () => {
  it('counts active credentials that expire within seven days', async () => {
    const read = async () => {
      const { text } = await t.call('GET', '/metrics');
      return Number(/^service_credentials_expiring_soon_total (\d+)$/m.exec(text)?.[1]);
    };
    const before = await read();
    const { agentId } = await t.agent();
    const soon = await generate(agentId, { expiresAt: inDays(6) });
    await generate(agentId, { expiresAt: inDays(8) });
    await generate(agentId);
    assert.equal(await read(), before + 1);
    await revoke(agentId, soon.credentialId);
    assert.equal(await read(), before);
  });
});
