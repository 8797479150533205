import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import { createInvalidatingCache } from '../../kernel/data/invalidating-cache.ts';
import { createIds } from '../../kernel/ids.ts';
import { createLedger } from '../../kernel/ledger.ts';
import { createAgentCache, invalidateAgents } from './agent-cache.ts';
import type { Agent } from './schema.ts';

const t = await startApp();
const operator = await t.token();
const call = async (method: string, path: string, payload?: object, token = operator) =>
  (await t.call(method, `/api/v1/agents/${path}`, { token, ...(payload && { payload }) })).json;
const lookUps = async () =>
  /service_db_query_duration_seconds_count\{operation="agents.find"\} (\d+)/.exec(
    await t.app.metrics.text(),
  )?.[1];

describe('an agent that was read', () => {
  it('is remembered for ten seconds, in either spelling of its id', async () => {
    const { agentId } = await t.agent();
    const agent = await call('GET', agentId);
    const before = await lookUps();
    assert.deepEqual(await call('GET', agentId), agent);
    assert.deepEqual(await call('GET', agentId.toUpperCase()), agent);
    assert.equal(await lookUps(), before);
    t.clock.advance(10_000);
    assert.deepEqual(await call('GET', agentId), agent);
    assert.notEqual(await lookUps(), before);
  });

  it('is read anew after every change of it', async () => {
    const { agentId } = await t.agent();
    const changes: [string, string, object?][] = [
      ['PATCH', agentId, { version: '9.9.9', capabilities: ['tea:brew'] }],
      ['PATCH', agentId.toUpperCase(), { status: 'suspended' }],
      ['PATCH', agentId, { status: 'active', allowedScopes: ['agents:read'] }],
      ['PUT', `${agentId}/keys`, { keys: [] }],
      ['DELETE', agentId],
    ];
    let earlier = await call('GET', agentId);
    for (const [method, path, payload] of changes) {
      // What was announced before is over, and what is read now is kept.
      t.clock.advance(60_000);
      assert.deepEqual(await call('GET', agentId), earlier);
      const answer = await t.call(method, `/api/v1/agents/${path}`, {
        token: operator,
        ...(payload && { payload }),
      });
      assert.ok(answer.status < 300, answer.text);
      const now = await call('GET', agentId);
      assert.notEqual(now.updatedAt, earlier.updatedAt, `${method} ${path}`);
      if (method === 'PATCH') assert.deepEqual(now, answer.json);
      earlier = now;
    }
    assert.equal(earlier.status, 'decommissioned');
  });

  it('stays hidden from other organizations', async () => {
    const { agentId } = await t.agent();
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: operator,
        payload: { name: 'Elsewhere', slug: 'elsewhere' },
      })
    ).json;
    const foreign = await t.token(undefined, await t.agent({ organization_id: organizationId }));
    const stepsTo = async (id: string) => {
      const before = Number(await lookUps());
      const { code } = await call('GET', id, undefined, foreign);
      return [code, Number(await lookUps()) - before];
    };
    assert.equal((await call('GET', agentId)).agentId, agentId);
    for (const id of [agentId, crypto.randomUUID(), agentId])
      assert.deepEqual(await stepsTo(id), ['AGENT_NOT_FOUND', 1], 'as if it were not there');
  });

  it('is not brought back by a reading from before a change that is kept after it', async () => {
    const { agentId } = await t.agent();
    const older = (await call('GET', agentId)) as Agent;
    const announced = createInvalidatingCache({ kv: createMemoryKv(t.clock), clock: t.clock });
    const ledger = createLedger({
      clock: t.clock,
      ids: createIds(),
      listeners: [invalidateAgents(announced)],
    });
    const answers = [Promise.withResolvers<Agent>(), Promise.withResolvers<Agent>()];
    let asked = 0;
    const recall = createAgentCache({ cache: announced, clock: t.clock }, () => {
      asked += 1;
      return (answers[asked - 1] as PromiseWithResolvers<Agent>).promise;
    });

    const anybody = () => true;
    const early = recall(agentId, anybody);
    await t.app.db.transaction((tx) =>
      ledger.record(tx, { requestId: 'test', ipAddress: '', userAgent: '' }, 'agent.updated', older),
    );
    answers[0]?.resolve(older);
    assert.equal((await early)?.version, older.version, 'as it was when it was read');
    answers[1]?.resolve({ ...older, version: '2.0.0' });
    assert.equal((await recall(agentId, anybody))?.version, '2.0.0');
    assert.equal(asked, 2);
  });
});
