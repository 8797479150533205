/**
 * A dump restored into another server. Its transaction ids start elsewhere, so the ids of restored and of new events are in
 * no order. The tests have one server, so SQL sets the ids of the restored events.
 */
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { execute, startApp, type TestApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

let t: TestApp;
const it = (what: string, work: () => Promise<void>) =>
  test(what, async () => {
    t = await startApp({ LOG_LEVEL: 'error' });
    await work();
  });

const nextId = async (): Promise<number> => {
  const [row] = await t.sql<{ next: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  return Number(row?.next);
};
const queriesOf = async (query: string): Promise<number> => {
  const counted = new RegExp(`^service_db_query_duration_seconds_count{operation="${query}"} (\\d+)$`, 'm');
  return Number(counted.exec(await t.app.metrics.text())?.[1] ?? 0);
};

/** Gives the unlinked events transaction ids of the other server, one each from this id on. */
const setTransactionIds = (organizationId: string, from: number) =>
  execute(
    t.databaseUrl,
    `set session_replication_role = replica;
     update audit_events e set appended_in = (${from} - 1 + place)::text::xid8
     from (select event_id, row_number() over (order by event_id) as place from audit_events
           where organization_id = '${organizationId}' and not exists (select from ${auditLinks} l where l.event_id = audit_events.event_id)) numbered
     where e.event_id = numbered.event_id`,
  );

/** The progress of the other server's sequencer. */
const setProgress = (settledBefore: number, reached: number) =>
  t.sql(`update audit_progress set settled_before = '${settledBefore}', reached = '${reached}'`);

/** Events that the other server linked, with transaction ids that this server has not reached. */
async function linkedElsewhere(organizationId: string, events: number, from: number): Promise<void> {
  await recordEvents(t, organizationId, events);
  await setTransactionIds(organizationId, from);
  await setProgress(0, from + events);
  await t.app.audit.linkAll();
}

async function assertWhole(organizationId: string, events: number): Promise<void> {
  const { checked, finding } = await t.app.audit.verify(organizationId);
  assert.deepEqual({ checked, finding }, { checked: events, finding: undefined });
  const [links] = await t.sql(
    `select count(*)::int as links, count(distinct event_id)::int as different from ${auditLinks} l where organization_id = $1`,
    [organizationId],
  );
  assert.deepEqual(links, { links: events, different: events });
}

it('new events are linked once each before, while and after the server reaches the restored transaction ids', async () => {
  const organizationId = t.app.ids.uuid();
  const from = (await nextId()) + 40;
  const restored = 60;
  await linkedElsewhere(organizationId, restored, from);
  await assertWhole(organizationId, restored);
  // Recorded before the dump, and not linked there.
  await recordEvents(t, organizationId, 1);
  const beyond = from + restored;
  await setTransactionIds(organizationId, beyond + 20);
  await setProgress(beyond, beyond);

  let events = restored + 1;
  while ((await nextId()) < beyond + 30) {
    for (let count = 0; count < 5; count += 1) await recordEvents(t, organizationId, 1);
    events += 5;
    await t.app.audit.linkAll();
    if (events % 4 === 1) await assertWhole(organizationId, events);
  }
  await assertWhole(organizationId, events);
  const [row] = await t.sql<{ low: boolean }>(
    'select settled_before <= pg_snapshot_xmax(pg_current_snapshot()) as low from audit_progress',
  );
  assert.equal(row?.low, true);
  await t.app.audit.watch();
  assert.match(await t.app.metrics.text(), /^service_audit_chain_integrity 1$/m);
  assert.deepEqual(t.logs, []);
});

it('a dump of a restored database is restored again', async () => {
  const organizationId = t.app.ids.uuid();
  const from = (await nextId()) + 40;
  await linkedElsewhere(organizationId, 60, from);
  await setProgress(from + 60, from + 60);
  await t.app.audit.linkAll();
  // Recorded on the second server and not linked there. The third starts at lower ids, so settled_before proves nothing.
  await recordEvents(t, organizationId, 1);
  await setTransactionIds(organizationId, from + 20);
  await t.sql('update audit_progress set settled_before = pg_snapshot_xmin(pg_current_snapshot())');
  await assertWhole(organizationId, 61);
  while ((await nextId()) < from + 70)
    for (let count = 0; count < 5; count += 1) await recordEvents(t, organizationId, 1);
  assert.equal((await t.app.audit.verify(organizationId)).finding, undefined);
});

it('events recorded between the restore and the first pass are linked, though the server has reached the ids by then', async () => {
  const organizationId = t.app.ids.uuid();
  await recordEvents(t, organizationId, 3);
  await t.app.audit.linkAll();
  await recordEvents(t, organizationId, 2);
  const next = await nextId();
  await setProgress(next, next);
  await assertWhole(organizationId, 5);
});

it('the whole log is processed in batches, and only once', async () => {
  const organizationId = t.app.ids.uuid();
  for (let count = 0; count < 10; count += 1) await recordEvents(t, organizationId, 900);
  await t.app.audit.linkAll();
  const parts = await queriesOf('audit.unlinked');
  await setProgress(0, 0);
  await t.app.audit.linkAll();
  assert.ok((await queriesOf('audit.unlinked')) >= parts + 3);
  // Then one query for new events again.
  const [before, ends] = [await queriesOf('audit.unlinked'), await queriesOf('audit.unlinked.end')];
  for (let count = 0; count < 3; count += 1) {
    await recordEvents(t, organizationId, 1);
    await t.app.audit.linkAll();
  }
  assert.deepEqual(
    [await queriesOf('audit.unlinked'), await queriesOf('audit.unlinked.end')],
    [before + 3, ends],
  );
  await assertWhole(organizationId, 9_003);
});
