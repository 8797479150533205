/** Events that are not linked in time, and events that are deleted before they are linked. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it, test } from 'node:test';
import {
  createTestClock,
  environment,
  execute,
  startApp,
  type TestApp,
  withLongConnectTimeout,
} from '../../../../test/support/harness.ts';
import { holdOpen, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createApp } from '../../../app.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createIntegrityStatus } from '../integrity-status.ts';
import { createUnlinkedEvents } from './unlinked-events.ts';

const health = async (t: TestApp) => (await t.call('GET', '/health')).json;
const gauge = async (t: TestApp, name: string) =>
  Number(
    (await t.app.metrics.text())
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length),
  );
const pass = async (t: TestApp) => {
  const loop = t.app.audit.loops.find(({ name }) => name === 'audit-sequencer');
  await loop?.run(AbortSignal.timeout(600_000));
};
async function startNode(t: TestApp, clock = t.clock) {
  const config = loadConfig(environment(withLongConnectTimeout(t.databaseUrl)));
  const app = await createApp({ config, log: createLog({ level: 'silent' }), clock });
  after(() => app.close());
  await app.prepare();
  return app;
}

describe('the backlog', () => {
  test('200 with audit.status delayed while the oldest unlinked event is older than five seconds', async () => {
    const t = await startApp({ LOG_LEVEL: 'info' });
    const lines = (text: string) =>
      t.logs.filter((line) => line.includes(text)).map((line) => JSON.parse(line));
    await t.app.audit.linkAll();
    await t.app.audit.checkBacklog();
    assert.deepEqual((await health(t)).audit, { status: 'ok', oldestUnlinkedSeconds: 0 });

    // The age is by the clock of the database.
    t.clock.advance(-7_000);
    await recordEvents(t, t.app.ids.uuid(), 2);
    t.clock.advance(7_000);
    await t.app.audit.checkBacklog();
    // Its transaction may have been open for that long, so a second measurement is needed.
    assert.equal((await health(t)).audit.status, 'ok');
    t.clock.advance(1_000);
    await t.app.audit.checkBacklog();
    const { status, audit } = await health(t);
    assert.deepEqual([status, audit.status], ['ok', 'delayed']);
    assert.ok(audit.oldestUnlinkedSeconds >= 7, String(audit.oldestUnlinkedSeconds));
    assert.equal(await gauge(t, 'service_audit_linking_delayed'), 1);
    assert.ok((await gauge(t, 'service_audit_oldest_unlinked_seconds')) >= 7);
    await t.app.audit.checkBacklog();
    const logged = lines('audit events are not linked in time');
    assert.deepEqual([logged.length, logged[0].level], [1, 50]);
    assert.ok(logged[0].oldestUnlinkedSeconds >= 7);

    await t.app.audit.linkAll();
    await t.app.audit.checkBacklog();
    assert.deepEqual((await health(t)).audit, { status: 'ok', oldestUnlinkedSeconds: 0 });
    assert.equal(await gauge(t, 'service_audit_linking_delayed'), 0);
    assert.equal(lines('audit events are linked in time again').length, 1);
    // A delay is no proof of tampering.
    await t.app.audit.watch();
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 1);
  });

  test('a node whose clock is an hour ahead reports no delay that the others do not see', async () => {
    const t = await startApp();
    const ahead = createTestClock();
    ahead.advance(3_600_000);
    const node = await startNode(t, ahead);
    await t.app.audit.linkAll();
    await recordEvents(t, t.app.ids.uuid(), 1);
    for (let measurement = 0; measurement < 2; measurement += 1) await node.audit.checkBacklog();
    const { oldestUnlinkedSeconds } = node.audit.linking();
    assert.ok(oldestUnlinkedSeconds < 3_600, String(oldestUnlinkedSeconds));
  });

  test('200 with audit.status delayed while the sequencer cannot get its lock, though every event is linked', async () => {
    const t = await startApp();
    await t.app.audit.linkAll();
    const holder = await holdOpen(t.databaseUrl, 'lock table audit_progress in exclusive mode');
    const passing = pass(t);
    t.clock.advance(5_000);
    await passing;
    assert.equal((await health(t)).audit.status, 'delayed');
    await holder.release();
    await pass(t);
    assert.equal((await health(t)).audit.status, 'ok');
  });

  test('200 with audit.status delayed until a restored log has been processed', async () => {
    const t = await startApp();
    await t.app.audit.linkAll();
    await t.sql("update audit_progress set settled_before = '0'");
    for (let round = 0; round < 3; round += 1) {
      await t.app.audit.checkBacklog();
      t.clock.advance(6_000);
    }
    assert.equal((await health(t)).audit.status, 'delayed');
    await t.app.audit.linkAll();
    await t.app.audit.checkBacklog();
    assert.equal((await health(t)).audit.status, 'ok');
  });
});

describe('an event that was deleted before it was linked', () => {
  const remove = (t: TestApp, organizationId: string) =>
    execute(
      t.databaseUrl,
      `set session_replication_role = replica;
       create table removed as select * from audit_events where organization_id = '${organizationId}';
       delete from audit_events where organization_id = '${organizationId}'`,
    );
  const verified = async (t: TestApp, token: string, query = '') =>
    (await t.call('GET', `/api/v1/audit/verify${query}`, { token })).json.verified;

  it('200, verified false, in the process that recorded it, until it is restored', async () => {
    const t = await startApp();
    const token = await t.token();
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 1);
    await remove(t, organizationId);
    assert.equal(await verified(t, token), false);
    assert.equal(await verified(t, token, `?organizationId=${organizationId}`), false);
    assert.equal(await verified(t, token, `?organizationId=${t.operator.organizationId}`), true);
    assert.equal(await verified(t, token, `?organizationId=${organizationId}&toDate=2020-01-01`), true);
    await t.app.audit.watch();
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 0);
    await t.sql('insert into audit_events select * from removed');
    await t.sql("update audit_progress set settled_before = '0'");
    assert.equal(await verified(t, token), true);
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 1);
  });

  it('gauge 0 after the loop, without a verification', async () => {
    const t = await startApp({ LOG_LEVEL: 'error' });
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 1);
    await remove(t, organizationId);
    t.clock.advance(5_000);
    await t.app.audit.checkBacklog();
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 0);
    assert.match(t.logs.join(), /deleted before it was linked/);
  });

  for (const [what, chain] of [
    ['in another chain', () => randomUUID()],
    ['after the last segment of its chain', (organizationId: string) => organizationId],
  ] as const)
    it(`gauge 0 when a forged segment was inserted ${what}, before the event was deleted`, async () => {
      const t = await startApp();
      const organizationId = t.app.ids.uuid();
      await recordEvents(t, organizationId, 1);
      await execute(
        t.databaseUrl,
        `set session_replication_role = replica;
         insert into audit_segments (organization_id, number, size, taken_at, taken_on, head, records, first_appended_in, last_appended_in, tree, leaf_index, proof)
         select '${chain(organizationId)}', 7, 7, occurred_at, current_date, sha256(''), uuid_send(event_id) || timestamptz_send(occurred_at) || sha256(''),
                appended_in, appended_in, 1, 0, ''
         from audit_events where organization_id = '${organizationId}'`,
      );
      t.clock.advance(5_000);
      await t.app.audit.checkBacklog();
      await remove(t, organizationId);
      await execute(
        t.databaseUrl,
        'set session_replication_role = replica; delete from audit_segments where number = 7',
      );
      t.clock.advance(5_000);
      await t.app.audit.checkBacklog();
      assert.equal(await gauge(t, 'service_audit_chain_integrity'), 0);
    });

  it('gauge 0 after one round of the loop, with more pending events than one query looks up', async () => {
    const t = await startApp();
    const [first, last] = [t.app.ids.uuid(), t.app.ids.uuid()];
    await recordEvents(t, first, 2_500);
    await recordEvents(t, last, 1);
    await remove(t, last);
    t.clock.advance(5_000);
    await t.app.audit.checkBacklog();
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 0);
  });

  it('gauge 1 for events that another node has linked, each looked up once', async () => {
    const t = await startApp();
    const lookups = () =>
      gauge(t, 'service_db_query_duration_seconds_count{operation="audit.backlog.whereabouts"}');
    const organizationId = t.app.ids.uuid();
    await t.app.audit.linkAll();
    await recordEvents(t, organizationId, 2_500);
    const other = await startNode(t);
    await other.audit.linkAll();
    t.clock.advance(5_000);
    await t.app.audit.checkBacklog();
    assert.equal(await lookups(), 3);
    await t.app.audit.checkBacklog();
    assert.equal((await t.app.audit.verify(organizationId)).checked, 2_500);
    assert.equal(await lookups(), 3);
    assert.equal(await gauge(t, 'service_audit_chain_integrity'), 1);
  });
});

test('drops the oldest pending events beyond the maximum, counts them, and logs that once a minute', async () => {
  const t = await startApp();
  const lines: string[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
  const { db, metrics } = t.app;
  const integrity = createIntegrityStatus({ log, metrics });
  const unlinked = createUnlinkedEvents({
    db,
    clock: t.clock,
    log,
    metrics,
    integrity,
    chainHeads: { newest: async () => new Map() },
    maxEntries: 10,
  });
  const organizationIds = Array.from({ length: 30 }, () => t.app.ids.uuid());
  const timestamp = new Date(t.clock.now()).toISOString();
  const append = (some: readonly string[]) =>
    unlinked.appended(
      some.map((organizationId) => ({ eventId: t.app.ids.uuid(), organizationId, timestamp })),
    );
  const dropped = () => gauge(t, 'service_audit_pending_dropped_total');

  for (const organizationId of organizationIds.slice(0, 10)) append([organizationId]);
  assert.deepEqual([[...unlinked.organizations()].length, lines.length, await dropped()], [10, 0, 0]);

  for (const organizationId of organizationIds.slice(10)) append([organizationId]);
  const remaining = [...unlinked.organizations()];
  assert.ok(remaining.length >= 9 && remaining.length <= 10, String(remaining.length));
  assert.deepEqual(remaining, organizationIds.slice(-remaining.length));
  assert.equal(await dropped(), 30 - remaining.length);
  assert.equal(lines.length, 1);

  t.clock.advance(60_000);
  append(organizationIds);
  assert.equal(lines.length, 2);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).level),
    [40, 40],
  );
  assert.equal(
    lines.reduce((sum, line) => sum + JSON.parse(line).dropped, 0),
    await dropped(),
  );
  // The remaining ones are looked up: they are in no table.
  t.clock.advance(5_000);
  await unlinked.check();
  assert.ok(integrity.isRaised());
});

test('200, verified true: events are linked though the row of audit_progress was deleted', async () => {
  const t = await startApp();
  const organizationId = t.app.ids.uuid();
  await recordEvents(t, organizationId, 2);
  await t.app.audit.linkAll();
  await recordEvents(t, organizationId, 1);
  await t.sql('delete from audit_progress');
  const answer = await t.call('GET', `/api/v1/audit/verify?organizationId=${organizationId}`, {
    token: await t.token(),
  });
  assert.deepEqual([answer.status, answer.json.verified, answer.json.checkedCount], [200, true, 3]);
});
