import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import { createIds } from '../../kernel/ids.ts';
import { createInvalidatingCache } from '../../kernel/invalidating-cache.ts';
import { createLedger } from '../../kernel/ledger.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { createAgentCache, invalidateAgents } from './agent-cache.ts';
import type { Agent } from './schema.ts';

const t = await startApp();
const operator = await t.token();
const call = async (method: string, path: string, payload?: object, token = operator) =>
  (await t.call(method, `/api/v1/agents/${path}`, { token, ...(payload && { payload }) })).json;
const countQueries = async () =>
  /service_db_query_duration_seconds_count\{operation="agents.find"\} (\d+)/.exec(
    await t.app.metrics.text(),
  )?.[1];

describe('the agent cache', () => {
  it('keeps an agent for ten seconds, by its id in either case', async () => {
    const { agentId } = await t.agent();
    const agent = await call('GET', agentId);
    const before = await countQueries();
    assert.deepEqual(await call('GET', agentId), agent);
    assert.deepEqual(await call('GET', agentId.toUpperCase()), agent);
    assert.equal(await countQueries(), before);
    t.clock.advance(10_000);
    assert.deepEqual(await call('GET', agentId), agent);
    assert.notEqual(await countQueries(), before);
  });

  it('is invalidated by every change of the agent', async () => {
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
      // The last invalidation has expired, so this read is cached.
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

  it('shows no agents to other organizations, and a miss costs them one query, as for an unknown id', async () => {
    const { agentId } = await t.agent();
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: operator,
        payload: { name: 'Elsewhere', slug: 'elsewhere' },
      })
    ).json;
    const foreign = await t.token(undefined, await t.agent({ organization_id: organizationId }));
    const queriesFor = async (id: string) => {
      const before = Number(await countQueries());
      const { code } = await call('GET', id, undefined, foreign);
      return [code, Number(await countQueries()) - before];
    };
    assert.equal((await call('GET', agentId)).agentId, agentId);
    for (const id of [agentId, crypto.randomUUID(), agentId])
      assert.deepEqual(await queriesFor(id), ['AGENT_NOT_FOUND', 1], 'as if it were not there');
  });

  it('does not store a value that was read before an invalidation', async () => {
    const { agentId } = await t.agent();
    const older = (await call('GET', agentId)) as Agent;
    const cache = createInvalidatingCache({
      kv: createMemoryKv(t.clock),
      clock: t.clock,
      metrics: createMetrics(),
    });
    const ledger = createLedger({
      clock: t.clock,
      ids: createIds(),
      listeners: [invalidateAgents(cache)],
    });
    const answers = [Promise.withResolvers<Agent>(), Promise.withResolvers<Agent>()];
    let queries = 0;
    const readCached = createAgentCache({ cache, clock: t.clock }, () => {
      queries += 1;
      return (answers[queries - 1] as PromiseWithResolvers<Agent>).promise;
    });

    const isVisible = () => true;
    const early = readCached(agentId, isVisible);
    await t.app.db.transaction((tx) =>
      ledger.record(tx, { requestId: 'test', ipAddress: '', userAgent: '' }, 'agent.updated', older),
    );
    answers[0]?.resolve(older);
    assert.equal((await early)?.version, older.version, 'the value at the time of the read');
    answers[1]?.resolve({ ...older, version: '2.0.0' });
    assert.equal((await readCached(agentId, isVisible))?.version, '2.0.0');
    assert.equal(queries, 2);
  });
});
