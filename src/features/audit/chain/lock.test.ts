/** Only a role that may write audit_progress can stop the sequencer, and for a limited time. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import pg from 'pg';
import { startApp, type TestApp } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import {
  auditLinks,
  createReadOnlyRole,
  holdOpen,
  recordEvents,
} from '../../../../test/support/scenarios/audit-log.ts';
import { createPostgres } from '../../../adapters/postgres/postgres.ts';
import { DatabaseUnavailable } from '../../../kernel/data/db.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createMetrics } from '../../../kernel/observability/metrics.ts';
import { isLockTimeout, lockLeaseMs, terminateStalledLockHolder } from './lock-store.ts';

const advisoryKey = '7263544004';

const pass = async (t: TestApp) => {
  const loop = t.app.audit.loops.find(({ name }) => name === 'audit-sequencer');
  await loop?.run(AbortSignal.timeout(600_000));
};
const countLinks = async (t: TestApp, organizationId: string) => {
  const [row] = await t.sql<{ links: number }>(
    `select count(*)::int as links from ${auditLinks} l where organization_id = $1`,
    [organizationId],
  );
  return row?.links;
};

describe('the lock of the sequencer', async () => {
  const t = await startApp();
  const reader = await createReadOnlyRole(t);

  it('cannot be taken by a role that may not write audit_progress', async () => {
    for (const statement of [
      'lock table audit_progress in exclusive mode',
      'lock table audit_progress in share row exclusive mode',
      'select from audit_progress for update',
    ])
      await assert.rejects(holdOpen(reader, statement), /permission denied/, statement);
  });

  for (const statement of [
    `select pg_advisory_xact_lock(${advisoryKey})`,
    `select pg_advisory_lock(${advisoryKey})`,
    'select settled_before from audit_progress',
  ])
    it(`is not blocked by an unprivileged role with: ${statement}`, async () => {
      const organizationId = t.app.ids.uuid();
      const holder = await holdOpen(reader, statement);
      await recordEvents(t, organizationId, 3);
      await pass(t);
      assert.equal(await countLinks(t, organizationId), 3);
      await recordEvents(t, organizationId, 2);
      assert.equal((await t.app.audit.verify(organizationId)).checked, 5);
      await holder.release();
    });

  it('waits for a node of an earlier version, which holds the advisory lock with our privileges', async () => {
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 3);
    const earlier = await holdOpen(t.databaseUrl, `select pg_advisory_xact_lock(${advisoryKey})`);
    await pass(t);
    assert.equal(await countLinks(t, organizationId), 0);
    const linking = t.app.audit.linkAll();
    await until(
      'the sequencer waits',
      async () => /operation="audit.lock.wait"/.test(await t.app.metrics.text()) || undefined,
    );
    assert.equal(await countLinks(t, organizationId), 0);
    await earlier.release();
    await linking;
    assert.equal(await countLinks(t, organizationId), 3);
  });

  it('blocks a node of an earlier version', async () => {
    const ours = await holdOpen(t.databaseUrl, `select pg_advisory_xact_lock_shared(${advisoryKey})`);
    await assert.rejects(
      holdOpen(t.databaseUrl, `set local lock_timeout = 100; select pg_advisory_xact_lock(${advisoryKey})`),
      /lock timeout/,
    );
    await ours.release();
  });

  it('503 SERVICE_UNAVAILABLE after a timeout while a session with our privileges holds the advisory lock', async () => {
    const token = await t.token();
    const verify = () => t.call('GET', '/api/v1/audit/verify', { token });
    const holder = await holdOpen(t.databaseUrl, `select pg_advisory_lock(${advisoryKey})`);
    const ended = Promise.allSettled([
      verify(),
      t.app.audit.prepare(),
      t.app.audit.watch(),
      t.app.audit.retain(),
    ]);
    let over = false;
    void ended.then(() => {
      over = true;
    });
    await until(
      'the end of the wait',
      async () => {
        t.clock.advance(1_000);
        return over || undefined;
      },
      undefined,
      30_000,
    ).finally(holder.release);
    const [answer, prepared, watched, retained] = await ended;
    assert.ok(answer.status === 'fulfilled');
    assert.deepEqual([answer.value.status, answer.value.json.code], [503, 'SERVICE_UNAVAILABLE']);
    for (const { status, reason } of [prepared, watched] as PromiseRejectedResult[]) {
      assert.equal(status, 'rejected');
      assert.ok(reason instanceof DatabaseUnavailable && isLockTimeout(reason), String(reason));
    }
    // Retention logs it and retries later.
    assert.equal(retained.status, 'fulfilled');
    await until('the released lock', async () => (await verify()).status === 200 || undefined);
  });

  it('only a holder of the lock loses its session when it reads no longer', async (context) => {
    const pidOf = async (client: pg.Client) =>
      (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
    const stall = async (statement: string) => {
      const client = new pg.Client({ connectionString: t.databaseUrl });
      client.on('error', () => {});
      await client.connect();
      const pid = await pidOf(client);
      await client.query('begin');
      await client.query(statement);
      const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
      context.after(() => socket.destroy());
      socket.pause();
      client.query(`select repeat('x', 1000) from generate_series(1, 100000)`).catch(() => {});
      return pid as number;
    };
    const reader = await stall('select');
    const holder = await stall('lock table audit_progress in exclusive mode');
    const stalled = () =>
      t.sql<{ pid: number }>(
        `select pid from pg_stat_activity where pid = any($1) and wait_event = 'ClientWrite'
           and state_change < clock_timestamp() - make_interval(secs => $2) order by pid = $3`,
        [[reader, holder], lockLeaseMs / 1_000, holder],
      );
    await until(
      'both have stalled',
      async () => (await stalled()).length === 2 || undefined,
      undefined,
      30_000,
    );
    assert.deepEqual(await terminateStalledLockHolder(t.app.db), [{ pid: holder }]);
    // On a busy machine its process ends a moment after the call.
    const isLeft = async () => (await stalled()).some(({ pid }) => pid === holder);
    await until('the end of the holder', async () => !(await isLeft()) || undefined);
    assert.deepEqual(await stalled(), [{ pid: reader }]);
  });

  it('a role that may not end sessions is no error', async () => {
    await t.sql('revoke execute on function pg_terminate_backend(integer, bigint) from public');
    const log = createLog({ level: 'silent' });
    const db = createPostgres({ url: reader, poolSize: 1, log, metrics: createMetrics() });
    assert.deepEqual(await terminateStalledLockHolder(db).finally(() => db.close()), []);
  });
});
