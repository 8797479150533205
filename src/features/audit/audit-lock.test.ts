/** Only a role that may write audit_progress can keep the sequencer from linking, and no two sequencers link at once. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { holdOpen, record } from '../../../test/audit-log.ts';
import { createTestClock, environment, execute, startApp, type TestApp } from '../../../test/harness.ts';
import { until } from '../../../test/programs.ts';
import { createSigner, createStatementReader } from '../../adapters/keys.ts';
import { createPostgres } from '../../adapters/postgres.ts';
import { loadConfig } from '../../kernel/config.ts';
import type { Db, Tx } from '../../kernel/db.ts';
import { createLog } from '../../kernel/log.ts';
import { createMetrics } from '../../kernel/metrics.ts';
import { sql } from '../../kernel/sql.ts';
import { createAudit } from './feature.ts';

const advisoryKey = '7263544004';

const pass = async (t: TestApp) => {
  const loop = t.app.audit.loops.find(({ name }) => name === 'audit-sequencer');
  await loop?.run(AbortSignal.timeout(600_000));
};
const countLinks = async (t: TestApp, organizationId: string) => {
  const [row] = await t.sql<{ links: number }>(
    'select count(*)::int as links from audit_links where organization_id = $1',
    [organizationId],
  );
  return row?.links;
};

/** A role that may connect and read, and nothing else. */
async function unprivilegedUrl(t: TestApp): Promise<string> {
  const role = `reader_${new URL(t.databaseUrl).pathname.slice(1)}`;
  await t.sql(`create role ${role} login password 'reader'`);
  await t.sql(`grant select on all tables in schema public to ${role}`);
  // The database is gone by then.
  after(() => execute(new URL('/postgres', t.databaseUrl).href, `drop role ${role}`));
  const url = new URL(t.databaseUrl);
  url.username = role;
  url.password = 'reader';
  return url.href;
}

/** A sequencer as in earlier versions, which knows the advisory lock alone; its clock is a day ahead, so that no key of a table is shared. */
async function startEarlierVersion(t: TestApp) {
  const log = createLog({ level: 'silent' });
  const metrics = createMetrics();
  const own = createPostgres({ url: t.databaseUrl, poolSize: 2, log, metrics });
  after(() => own.close());
  const clock = createTestClock();
  clock.advance(86_400_000);
  const config = loadConfig(environment(t.databaseUrl));
  const signer = await createSigner({
    ...config.signingKeys,
    previousPublicKeys: [],
    issuer: config.baseUrl,
    clock,
  });
  const withAdvisoryLock = (tx: Tx): Tx => ({
    ...tx,
    one: async <Row>(name: string, query: Parameters<Tx['one']>[1]) => {
      if (name !== 'lock.auditSequencer.shared.try') return tx.one<Row>(name, query);
      await tx.run('lock', sql`select pg_advisory_xact_lock(${advisoryKey}::bigint)`);
      return { taken: true } as Row;
    },
    run: async (name, query) => (name === 'audit.lock' ? 0 : tx.run(name, query)),
  });
  const db: Db = { ...own, transaction: (work) => own.transaction((tx) => work(withAdvisoryLock(tx))) };
  return createAudit({ db, clock, log, metrics, signer, readStatement: createStatementReader() });
}

describe('the lock of the sequencer', async () => {
  const t = await startApp();
  const reader = await unprivilegedUrl(t);

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
      await record(t, organizationId, 3);
      await pass(t);
      assert.equal(await countLinks(t, organizationId), 3);
      await record(t, organizationId, 2);
      assert.equal((await t.app.audit.verify(organizationId)).checked, 5);
      await holder.release();
    });

  it('is left to a node of an earlier version, which holds the advisory lock with our privileges', async () => {
    const organizationId = t.app.ids.uuid();
    await record(t, organizationId, 3);
    const earlier = await holdOpen(t.databaseUrl, `select pg_advisory_xact_lock(${advisoryKey})`);
    await pass(t);
    assert.equal(await countLinks(t, organizationId), 0);
    const settled = t.app.audit.settle();
    await until(
      'the sequencer waits',
      async () => /operation="audit.lock.wait"/.test(await t.app.metrics.text()) || undefined,
    );
    assert.equal(await countLinks(t, organizationId), 0);
    await earlier.release();
    await settled;
    assert.equal(await countLinks(t, organizationId), 3);
  });

  it('keeps a node of an earlier version waiting', async () => {
    const ours = await holdOpen(t.databaseUrl, `select pg_advisory_xact_lock_shared(${advisoryKey})`);
    await assert.rejects(
      holdOpen(t.databaseUrl, `set local lock_timeout = 100; select pg_advisory_xact_lock(${advisoryKey})`),
      /lock timeout/,
    );
    await ours.release();
  });

  it('lets sequencers of two versions make one chain: no fork, nothing twice, nothing left out', async () => {
    const organizationId = t.app.ids.uuid();
    const earlier = await startEarlierVersion(t);
    let over = false;
    const linking = [t.app.audit, earlier].map(async (audit) => {
      while (!over) await audit.settle();
    });
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let count = 0; count < 15; count += 1) await record(t, organizationId, 3);
      }),
    );
    over = true;
    await Promise.all(linking);
    const { checked, finding } = await t.app.audit.verify(organizationId);
    assert.deepEqual({ checked, finding }, { checked: 270, finding: undefined });
    const [links] = await t.sql(
      `select count(*)::int as links, count(distinct sequence)::int as sequences, count(distinct event_id)::int as events
       from audit_links where organization_id = $1`,
      [organizationId],
    );
    assert.deepEqual(links, { links: 270, sequences: 270, events: 270 });
  });
});
