/** A process that freezes while it holds the lock of the sequencer: another one links, and the frozen one cannot. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { lockLeaseMs } from '../../src/features/audit/chain/lock-store.ts';
import { environment, startApp } from '../support/harness.ts';
import { startCountersign, until } from '../support/programs.ts';
import { auditLinks, holdOpen, recordEvents } from '../support/scenarios/audit-log.ts';

const t = await startApp();
const { audit } = t.app;
const organizationId = t.app.ids.uuid();

const holders = (condition: string) =>
  t.sql<{ pid: number }>(
    `select a.pid from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.granted
     where l.relation = 'audit_progress'::regclass and l.mode = 'ExclusiveLock'
       and a.datname = current_database() and ${condition}`,
  );
const countLinks = async () => {
  const [row] = await t.sql<{ links: number; events: number }>(
    `select count(*)::int as links, count(distinct event_id)::int as events
     from ${auditLinks} l where organization_id = $1`,
    [organizationId],
  );
  return row;
};

async function startWorker() {
  const started = startCountersign(['worker'], environment(t.databaseUrl, { LOG_LEVEL: 'info' }));
  const runs = async () => started.output().includes('the background loops are running') || undefined;
  await until('the worker', runs, started);
  return started;
}
let worker = await startWorker();

/** Freezes the worker in a statement of its sequencer, which waits for the table, and lets the statement go on. */
async function freezeAt(lock: string, then: string) {
  const block = await holdOpen(t.databaseUrl, lock);
  worker.kill('SIGCONT');
  const waits = async () => (await holders(`a.wait_event_type = 'Lock'`))[0]?.pid;
  const session = await until('the worker waits with the lock of the sequencer', waits, worker);
  worker.kill('SIGSTOP');
  await block.release();
  const stopped = async () => (await holders(`a.pid = ${session} and ${then}`))[0];
  await until('the session has stopped', stopped, worker);
}

/** Another process links all events. PostgreSQL ends any other session that is idle in a transaction much later. */
async function overtake(events: number) {
  const loop = audit.loops.find(({ name }) => name === 'audit-sequencer');
  const linked = async () => {
    await loop?.run(AbortSignal.timeout(600_000));
    return (await countLinks())?.links === events || undefined;
  };
  await until('another process links', linked, worker, 8 * lockLeaseMs);
}

/** The worker continues, and the log is whole. */
async function assertFenced(events: number) {
  worker.kill('SIGCONT');
  await recordEvents(t, organizationId, 1);
  await until(
    'all events have a link',
    async () => (await countLinks())?.links === events + 1 || undefined,
    worker,
  );
  assert.deepEqual(await countLinks(), { links: events + 1, events: events + 1 });
  const [numbers] = await t.sql(
    'select count(*)::int as heads, count(distinct number)::int as numbers from audit_tree_heads',
  );
  assert.equal(numbers?.heads, numbers?.numbers);
  const { checked, finding } = await audit.verify(organizationId);
  assert.deepEqual({ checked, finding }, { checked: events + 1, finding: undefined });
}

it('is overtaken when its lease has ended, and writes no link when it continues', async () => {
  await recordEvents(t, organizationId, 2);
  await audit.linkAll();
  worker.kill('SIGSTOP');
  await recordEvents(t, organizationId, 3);
  await freezeAt('lock table audit_segments in share mode', `a.state = 'idle in transaction'`);
  await overtake(5);
  await assertFenced(5);
});

it('is overtaken while PostgreSQL waits for it to read a long result', async () => {
  // The batches of the first are smaller since its lease ended.
  worker.kill('SIGTERM');
  await worker.ended();
  worker = await startWorker();
  worker.kill('SIGSTOP');
  // Longer than what the sockets hold.
  await recordEvents(t, organizationId, 4_000, 'x'.repeat(4_000));
  await freezeAt('lock table audit_events in access exclusive mode', `a.wait_event = 'ClientWrite'`);
  await overtake(4_006);
  await assertFenced(4_006);
});
