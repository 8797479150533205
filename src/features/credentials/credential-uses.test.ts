/** The name and `lastUsedAt` of a credential. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment, startApp } from '../../../test/support/harness.ts';
import { createApp } from '../../app.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';

const t = await startApp();
const operator = () => t.token();

const generate = async (agentId: string, payload: object) =>
  t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: await operator(), payload });
const list = async (agentId: string) =>
  (await t.call('GET', `/api/v1/agents/${agentId}/credentials`, { token: await operator() })).json.data;
const lastUsedAt = async (agentId: string): Promise<string | null> => (await list(agentId))[0].lastUsedAt;

describe('name', () => {
  for (const [what, payload, name] of [
    ['a name of 64 characters', { name: 'é'.repeat(64) }, 'é'.repeat(64)],
    ['null', { name: null }, null],
    ['none', {}, null],
  ] as const)
    it(`201 with ${what}; the list and a rotation show it`, async () => {
      const { agentId } = await t.agent();
      const { status, json } = await generate(agentId, payload);
      assert.deepEqual([status, json.name], [201, name]);
      assert.equal((await list(agentId))[0].name, name);
      const path = `/api/v1/agents/${agentId}/credentials/${json.credentialId}/rotate`;
      assert.equal((await t.call('POST', path, { token: await operator() })).json.name, name);
    });

  for (const bad of ['', ' ', 'a'.repeat(65), 'a\u0000', 'a\nb', 'a\u202eb', '\ufeff', 7, ['a'], {}])
    it(`400 VALIDATION_ERROR for ${JSON.stringify(bad).slice(0, 20)}; nothing is created`, async () => {
      const { agentId } = await t.agent();
      const { status, json } = await generate(agentId, { name: bad });
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
      assert.equal((await list(agentId)).length, 1);
    });

  it('400 VALIDATION_ERROR for a rotation with a name: a credential keeps its name', async () => {
    const { agentId } = await t.agent();
    const { credentialId } = (await generate(agentId, { name: 'ci' })).json;
    const path = `/api/v1/agents/${agentId}/credentials/${credentialId}/rotate`;
    const answer = await t.call('POST', path, { token: await operator(), payload: { name: 'other' } });
    assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR']);
  });
});

describe('lastUsedAt', () => {
  it('200 is null until a client authenticates with the secret, then the time, accurate to a minute', async () => {
    const agent = await t.agent();
    const other = (await generate(agent.agentId, {})).json;
    assert.equal(other.lastUsedAt, null);
    const before = t.clock.now();
    await t.token(undefined, agent);
    const [newest, first] = await list(agent.agentId);
    assert.equal(newest.lastUsedAt, null, 'another credential of the agent');
    const used = Date.parse(first.lastUsedAt);
    assert.ok(used >= before && used <= t.clock.now());

    t.clock.advance(61_000);
    await t.token(undefined, agent);
    const again = Date.parse((await list(agent.agentId))[1].lastUsedAt);
    assert.ok(again - used >= 60_000);
    const path = `/api/v1/agents/${agent.agentId}/credentials/${first.credentialId}/rotate`;
    const rotated = (await t.call('POST', path, { token: await operator() })).json;
    assert.equal(Date.parse(rotated.lastUsedAt), again, 'a rotation shows it too');
  });

  it('200 stays the same after a wrong secret', async () => {
    const agent = await t.agent();
    await assert.rejects(t.token(undefined, { ...agent, clientSecret: 'wrong' }), /401/);
    assert.equal(await lastUsedAt(agent.agentId), null);
  });

  it('200 is set by an authenticated request that is refused for another reason', async () => {
    const { agentId, clientId, clientSecret } = await t.agent();
    await assert.rejects(t.token('admin:orgs', { clientId, clientSecret }), /400/);
    assert.notEqual(await lastUsedAt(agentId), null);
  });

  it('costs no write per token, and one for many credentials', async () => {
    const writes = async () =>
      Number(
        /_count\{operation="credentials\.recordUses"\} (\d+)/.exec(await t.app.metrics.text())?.[1] ??
          Number.NaN,
      );
    const agents = await Promise.all(Array.from({ length: 5 }, () => t.agent()));
    t.clock.advance(61_000);
    await t.app.credentials.flushUses();
    const before = await writes();
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(agents.map((agent) => t.token(undefined, agent)));
      await t.app.credentials.flushUses();
    }
    assert.equal((await writes()) - before, 1);
    const [row] = await t.sql<{ uses: string }>('select count(*) as uses from credential_uses');
    assert.ok(Number(row?.uses) >= 5);
  });

  it('is not moved back by a process that writes late', async () => {
    const agent = await t.agent();
    await t.token(undefined, agent);
    const later = new Date(t.clock.now() + 3_600_000).toISOString();
    await t.sql('insert into credential_uses select credential_id, $1 from credentials where agent_id = $2', [
      later,
      agent.agentId,
    ]);
    assert.equal(await lastUsedAt(agent.agentId), later);
  });

  it('is written when the database answers again, and when the server stops', async () => {
    const { clientId: client_id, clientSecret: client_secret } = await t.agent();
    await t.app.credentials.flushUses();
    const config = loadConfig(environment(t.databaseUrl));
    const node = await createApp({ config, log: createLog({ level: 'silent' }) });
    await t.sql('alter table credential_uses rename to gone');
    const response = await node.http.server.inject({
      method: 'POST',
      url: '/api/v1/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id,
        client_secret,
      }).toString(),
    });
    assert.equal(response.statusCode, 200);
    await assert.rejects(node.credentials.flushUses());
    await t.sql('alter table gone rename to credential_uses');
    await node.close();
    const uses = await t.sql(
      'select from credential_uses join credentials using (credential_id) where agent_id = $1',
      [client_id],
    );
    assert.equal(uses.length, 1);
  });
});
