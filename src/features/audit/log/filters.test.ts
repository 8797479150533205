import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import type { AuditEvent } from '../schema.ts';

const t = await startApp();
const operator = await t.token();
const { organizationId: otherHome } = (
  await t.call('POST', '/api/v1/organizations', {
    token: operator,
    payload: { name: 'Other', slug: 'other', planTier: 'pro' },
  })
).json;
const reader = await t.agent();
const token = await t.token(undefined, reader);
const [changed, theirs] = [await t.agent(), await t.agent({ organization_id: otherHome })];
const theirToken = await t.token(undefined, theirs);
const rename = (agentId: string, as: string) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token: as, payload: { owner: randomUUID() } });

const list = (query: string, as = token) => t.call('GET', `/api/v1/audit?limit=200&${query}`, { token: as });
const events = async (query: string, as = token): Promise<AuditEvent[]> => {
  const { status, json, text } = await list(query, as);
  assert.equal(status, 200, text);
  assert.equal(json.total, json.data.length);
  return json.data;
};
const actorOf = ({ agentId, metadata }: AuditEvent) => (metadata as { actorId?: string }).actorId ?? agentId;

describe('GET /audit?actorId', () => {
  it('200 with the events in which the agent acted, on itself or on another', async () => {
    await rename(changed.agentId, token);
    await rename(reader.agentId, token);
    await rename(reader.agentId, operator);
    const all = await events('');
    for (const actorId of [reader.agentId, t.operator.agentId, reader.agentId.toUpperCase()]) {
      const expected = all.filter((event) => actorOf(event) === actorId.toLowerCase());
      assert.ok(expected.length > 1 && expected.length < all.length);
      assert.deepEqual(await events(`actorId=${actorId}`), expected);
    }
    const updates = await events(`actorId=${reader.agentId}&action=agent.updated`);
    assert.deepEqual(
      updates.map(({ agentId }) => agentId),
      [reader.agentId, changed.agentId],
    );
    const onOther = await events(`actorId=${reader.agentId}&agentId=${changed.agentId}&outcome=success`);
    assert.deepEqual(
      onOther.map(({ action }) => action),
      ['agent.updated'],
    );
  });
  it("200 with nothing of another organization's log, and for an unknown agent", async () => {
    assert.deepEqual(await events(`actorId=${theirs.agentId}`), []);
    assert.deepEqual(await events(`actorId=${randomUUID()}`), []);
    assert.deepEqual(await events(`actorId=${reader.agentId}`, theirToken), []);
    assert.ok((await events(`actorId=${theirs.agentId}`, operator)).length > 0);
  });
  it('400 VALIDATION_ERROR for a malformed or empty id', async () => {
    for (const actorId of ['', 'x', `urn:uuid:${reader.agentId}`])
      assert.equal((await list(`actorId=${actorId}`)).json.code, 'VALIDATION_ERROR');
  });
});

describe('GET /audit?action with a trailing *', () => {
  for (const [action, pattern] of [
    ['agent.*', /^agent\./],
    ['agent.up*', /^agent\.up/],
    ['token.*', /^token\./],
    ['agent.updated*', /^agent\.updated/],
    ['*', /./],
    ['agent.updated', /^agent\.updated$/],
  ] as const)
    it(`200 for ${action}`, async () => {
      const all = await events('');
      const expected = all.filter((event) => pattern.test(event.action));
      assert.ok(expected.length > 0);
      assert.deepEqual(await events(`action=${encodeURIComponent(action)}`), expected);
    });
  it('200 with nothing for a prefix in another case, and for the wildcards of SQL', async () => {
    for (const action of ['AGENT.*', 'agent%*', 'agent_up*', 'agent.updat', '%', 'nothing.*'])
      assert.deepEqual(await events(`action=${encodeURIComponent(action)}`), []);
  });
  it('400 VALIDATION_ERROR for a * elsewhere, and for more than 64 characters', async () => {
    for (const action of ['*.updated', 'agent.*.x', '**', 'agent.**', 'a*b*', `${'a'.repeat(64)}*`]) {
      const { status, json } = await list(`action=${encodeURIComponent(action)}`);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], action);
      assert.match(json.message, /^action must /);
    }
  });
});

describe('GET /audit?reason', () => {
  it('200 with the failures that the overview counts under this reason, of this organization only', async () => {
    await t.askToken({
      grant_type: 'client_credentials',
      client_id: reader.clientId,
      client_secret: 'wrong',
    });
    const overview = await t.call('GET', '/api/v1/overview', { token });
    const [first] = overview.json.refusals.data;
    const found = await events(`reason=${encodeURIComponent(first.reason)}`);
    assert.equal(found.length, first.count);
    assert.ok(found.every(({ outcome }) => outcome === 'failure'));
    assert.deepEqual(await events(`reason=${encodeURIComponent(first.reason)}`, theirToken), []);
    assert.deepEqual(await events(`reason=${encodeURIComponent(first.reason)}&outcome=success`), []);
    assert.deepEqual(await events('reason=%25'), []);
  });
  it('400 VALIDATION_ERROR for an empty one, and for more than 200 characters', async () => {
    for (const reason of ['', 'x'.repeat(201)])
      assert.equal((await list(`reason=${reason}`)).json.code, 'VALIDATION_ERROR');
  });
});
