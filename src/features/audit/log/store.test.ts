import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import { newAgent, startApp } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { canonicalOf } from '../chain/canonical-store.ts';

const t = await startApp();
const dayMs = 86_400_000;

describe('the audit log', () => {
  it('has one row per change, with actor, action and origin; its canonical text is not stored', async () => {
    const created = await t.call('POST', '/api/v1/agents', {
      token: await t.token(),
      payload: newAgent(),
      remoteAddress: '192.0.2.7',
      headers: { 'user-agent': 'probe/1.0' },
    });
    const rows = await t.sql<{ metadata: { actorId: string }; canonical: string; [column: string]: unknown }>(
      `select *, canonical is null as narrow, ${canonicalOf('audit_events').sql} as canonical
       from audit_events where agent_id = $1 and action = 'agent.created'`,
      [created.json.agentId],
    );
    assert.equal(rows.length, 1);
    const [row] = rows;
    assert.ok(row);
    assert.equal(row.organization_id, t.operator.organizationId);
    assert.equal(row.outcome, 'success');
    assert.equal(row.ip_address, '192.0.2.7');
    assert.equal(row.user_agent, 'probe/1.0');
    assert.equal(row.metadata.actorId, t.operator.agentId);
    assert.equal(row.narrow, true);
    const event = JSON.parse(row.canonical);
    assert.equal(row.canonical, canonicalize(event));
    assert.equal(event.eventId, row.event_id);
    assert.equal(event.timestamp, (row.occurred_at as Date).toISOString());
  });

  it('is partitioned by day, ahead of time, and the loop creates further days', async () => {
    const days = async () =>
      (
        await t.sql<{ name: string }>(
          "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_events'::regclass order by 1",
        )
      ).map(({ name }) => name.slice(-8));
    const compact = (time: number) => new Date(time).toISOString().slice(0, 10).replaceAll('-', '');
    const before = await days();
    assert.ok(before.includes(compact(t.clock.now())));
    assert.ok(before.includes(compact(t.clock.now() + 7 * dayMs)));

    t.clock.advance(5 * dayMs);
    t.app.loops.start();
    await until(
      'the new day',
      async () => (await days()).includes(compact(t.clock.now() + 7 * dayMs)) || undefined,
    );
    await t.app.loops.stop();
    assert.equal(
      (await t.call('POST', '/api/v1/agents', { token: await t.token(), payload: newAgent() })).status,
      201,
    );
  });
});
