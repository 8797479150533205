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

const sessions = (condition: string) =>
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

it('is overtaken when its lease has ended, and writes no link when it continues', async () => {
  await recordEvents(t, organizationId, 2);
  await audit.linkAll();
  const worker = startCountersign(['worker'], environment(t.databaseUrl, { LOG_LEVEL: 'info' }));
  await until(
    'the worker',
    async () => worker.output().includes('the background loops are running') || undefined,
    worker,
  );
  // The worker waits for this session when it inserts the segment, with the lock of the sequencer.
  const block = await holdOpen(t.databaseUrl, 'lock table audit_segments in share mode');
  await recordEvents(t, organizationId, 3);
  const waits = async () => (await sessions(`a.wait_event_type = 'Lock'`))[0]?.pid;
  const frozenSession = await until('the worker links', waits, worker);
  worker.kill('SIGSTOP');
  await block.release();
  await until(
    'the statement has ended',
    async () => (await sessions(`a.pid = ${frozenSession} and a.state = 'idle in transaction'`))[0],
    worker,
  );

  const loop = audit.loops.find(({ name }) => name === 'audit-sequencer');
  const linked = async () => {
    await loop?.run(AbortSignal.timeout(600_000));
    return (await countLinks())?.links === 5 || undefined;
  };
  // Far less than the time after which PostgreSQL ends any other session that is idle in a transaction.
  await until('another process links', linked, worker, 6 * lockLeaseMs);

  worker.kill('SIGCONT');
  await recordEvents(t, organizationId, 1);
  await until('all events have a link', async () => (await countLinks())?.links === 6 || undefined, worker);
  assert.deepEqual(await countLinks(), { links: 6, events: 6 });
  const [numbers] = await t.sql(
    'select count(*)::int as heads, count(distinct number)::int as numbers from audit_tree_heads',
  );
  assert.equal(numbers?.heads, numbers?.numbers);
  const { checked, finding } = await audit.verify(organizationId);
  assert.deepEqual({ checked, finding }, { checked: 6, finding: undefined });
});
