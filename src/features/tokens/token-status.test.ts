import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { createMemoryKv } from '../../adapters/kv/memory-kv.ts';
import type { Db } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { createIds } from '../../kernel/ids.ts';
import { createInvalidatingCache } from '../../kernel/invalidating-cache.ts';
import { createLedger } from '../../kernel/ledger.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { findLenders } from '../people/lenders-store.ts';
import { findPersonTarget, findTargets } from '../resources/targets-store.ts';
import { createTokenStatuses, statusQuery } from './token-status.ts';

const t = await startApp();
const operator = await t.token();
const introspect = async (token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, operator)).json;

describe('the status of a token', () => {
  const queries = async () =>
    [
      ...(await t.app.metrics.text()).matchAll(
        /^service_db_query_duration_seconds_count\{operation="([^"]*)"\} (\d+)/gm,
      ),
    ]
      // What is done beside the answers may end later.
      .filter(
        ([, name]) =>
          !/^(credentials\.count|webhooks\.|signals\.oldestWaiting$|audit\.keys\.firstUse$|time$)/.test(
            name ?? '',
          ),
      )
      .map(([, name, count]) => `${name} ${count}`);

  it('is read from the database once within the cache time', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    const token = await t.token(undefined, agent);
    assert.equal((await introspect(token)).active, true);
    const before = await queries();
    for (let time = 0; time < 5; time += 1) assert.equal((await introspect(token)).active, true);
    assert.deepEqual(await queries(), before);
    t.clock.advance(10_000);
    assert.equal((await introspect(token)).active, true);
    assert.notDeepEqual(await queries(), before);
  });

  it('is invalidated when the agent changes: removed scopes are missing from the next response', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'tokens:read'] });
    const token = await t.token(undefined, agent);
    assert.equal((await introspect(token)).scope, 'agents:read tokens:read');
    await t.call('PATCH', `/api/v1/agents/${agent.agentId}`, {
      token: operator,
      payload: { allowedScopes: ['tokens:read'] },
    });
    assert.equal((await introspect(token)).scope, 'tokens:read');
  });

  it('that was revoked is cached until the token would have expired', async () => {
    const token = await t.token(undefined, await t.agent());
    await t.form('/api/v1/token/revoke', { token }, operator);
    t.clock.advance(61_000);
    assert.equal((await introspect(await t.token())).active, true, 'what is known of the asker is fresh');
    const before = await queries();
    assert.equal((await introspect(token)).active, false);
    assert.deepEqual(await queries(), before);
  });

  it('is not brought back by an answer that was read before a change and kept after it', async () => {
    const agent = await t.agent();
    const { jti } = decodeJwt(await t.token(undefined, agent));
    const query = statusQuery({
      tokenId: String(jti),
      agentId: agent.agentId,
      organizationId: t.operator.organizationId,
    });
    const { promise: read, resolve: haveRead } = Promise.withResolvers<void>();
    const { promise: changed, resolve: letGo } = Promise.withResolvers<void>();
    const slow: Db = {
      ...t.app.db,
      async maybe(name, query) {
        const row = await t.app.db.maybe(name, query);
        haveRead();
        await changed;
        return row as never;
      },
    };
    const kv = createMemoryKv(t.clock);
    const statuses = createTokenStatuses({
      db: slow,
      clock: t.clock,
      cache: createInvalidatingCache({ kv, clock: t.clock, metrics: createMetrics() }),
      findLinks: async () => [],
      findTargets,
      findPersonTarget,
      findLenders,
    });
    const agentStatus = async () => {
      const status = await statuses.get(query);
      return typeof status === 'string' ? status : status?.agentStatus;
    };
    const early = agentStatus();
    await read;

    const ledger = createLedger({ clock: t.clock, ids: createIds(), listeners: [statuses.listener] });
    const actor = { requestId: 'test', ipAddress: '', userAgent: '' };
    await t.app.db.transaction(async (tx) => {
      await tx.run('test', sql`update agents set status = 'suspended' where agent_id = ${agent.agentId}`);
      await ledger.record(tx, actor, 'agent.suspended', query);
    });
    letGo();
    assert.equal(await early, 'active', 'it was when it was read');
    assert.equal(await agentStatus(), 'suspended');
  });
});
