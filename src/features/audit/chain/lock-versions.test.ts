/** Rolling upgrade: a sequencer of an earlier version, which takes the advisory lock only, beside one of this version. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  createTestClock,
  environment,
  startApp,
  type TestApp,
  type TestClock,
  withLongConnectTimeout,
} from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import {
  auditLinks,
  createReadOnlyRole,
  holdOpen,
  recordEvents,
} from '../../../../test/support/scenarios/audit-log.ts';
import { createSigner, createStatementReader } from '../../../adapters/keys/keys.ts';
import { createPostgres } from '../../../adapters/postgres/postgres.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createMetrics } from '../../../kernel/observability/metrics.ts';
import { createAudit } from '../feature.ts';

const advisoryKey = '7263544004';
const dayMs = 86_400_000;

/** An audit feature with its own connections and modified transactions. */
async function startNode(t: TestApp, clock: TestClock, change: (tx: Tx) => Tx) {
  const log = createLog({ level: 'silent' });
  const metrics = createMetrics();
  const own = createPostgres({ url: withLongConnectTimeout(t.databaseUrl), poolSize: 2, log, metrics });
  after(() => own.close());
  const config = loadConfig(environment(t.databaseUrl));
  const signer = await createSigner({
    ...config.signingKeys,
    previousPublicKeys: [],
    issuer: config.baseUrl,
    clock,
  });
  const db: Db = { ...own, transaction: (work) => own.transaction((tx) => work(change(tx))) };
  return createAudit({ db, clock, log, metrics, signer, readStatement: createStatementReader() });
}

/** Takes the advisory lock exclusively, and no lock on the table. */
const startEarlierVersion = (t: TestApp, clock: TestClock) =>
  startNode(t, clock, (tx) => ({
    ...tx,
    one: async <Row>(name: string, query: Parameters<Tx['one']>[1]) => {
      if (name !== 'lock.auditSequencer.shared.try') return tx.one<Row>(name, query);
      await tx.run('lock', sql`select pg_advisory_xact_lock(${advisoryKey}::bigint)`);
      return { taken: true } as Row;
    },
    run: async (name, query) => (name === 'audit.lock' ? 0 : tx.run(name, query)),
  }));

/** A node of this version that pauses before the statement with this name, in its first batch. */
async function startPausing(t: TestApp, statement: string) {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const audit = await startNode(t, t.clock, (tx) => ({
    ...tx,
    run: async (name, query) => {
      if (name === statement) {
        reached.resolve();
        await resumed.promise;
      }
      return tx.run(name, query);
    },
  }));
  return { audit, reached: reached.promise, resume: () => resumed.resolve() };
}

const linksOf = async (t: TestApp, organizationId: string) => {
  const [links] = await t.sql(
    `select count(*)::int as links, count(distinct sequence)::int as sequences, count(distinct event_id)::int as events
     from ${auditLinks} l where organization_id = $1`,
    [organizationId],
  );
  return links;
};
const isOneChain = async (t: TestApp, organizationId: string, events: number) => {
  const { checked, finding } = await t.app.audit.verify(organizationId);
  assert.deepEqual({ checked, finding }, { checked: events, finding: undefined });
  assert.deepEqual(await linksOf(t, organizationId), { links: events, sequences: events, events });
};

/**
 * An unprivileged role holds the advisory lock until the batch of this version reaches the statement. Then the earlier
 * version takes the lock and links the same events.
 */
async function linkBoth(t: TestApp, reader: string, statement: string, clock: TestClock) {
  const organizationId = t.app.ids.uuid();
  await recordEvents(t, organizationId, 3);
  const earlier = await startEarlierVersion(t, clock);
  const ours = await startPausing(t, statement);
  const holder = await holdOpen(reader, `select pg_advisory_lock(${advisoryKey})`);
  const linking = [ours.audit.linkAll()];
  await Promise.race([ours.reached, ...linking]);
  await holder.release();
  linking.push(earlier.linkAll());
  await until('the earlier version waits for this one', async () => {
    const waiting = await t.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.length > 0 || undefined;
  });
  ours.resume();
  const ended = await Promise.allSettled(linking);
  return { organizationId, committed: ended.filter(({ status }) => status === 'fulfilled').length };
}

describe('sequencers of two versions', async () => {
  const t = await startApp();
  const reader = await createReadOnlyRole(t);
  await t.app.audit.linkAll();

  it('make one chain: no fork, no duplicate, no gap', async () => {
    const organizationId = t.app.ids.uuid();
    // On another day no primary key collides.
    const clock = createTestClock();
    clock.advance(dayMs);
    const earlier = await startEarlierVersion(t, clock);
    let over = false;
    const linking = [t.app.audit, earlier].map(async (audit) => {
      while (!over) await audit.linkAll();
    });
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let count = 0; count < 15; count += 1) await recordEvents(t, organizationId, 3);
      }),
    );
    over = true;
    await Promise.all(linking);
    await isOneChain(t, organizationId, 270);
  });

  for (const statement of ['audit.segments.insert', 'audit.progress'])
    for (const [when, aheadMs] of [
      ['on one day', 0],
      ['on two days', dayMs],
    ] as const)
      it(`make one chain ${when} when an unprivileged role releases the advisory lock before ${statement}`, async () => {
        const clock = createTestClock();
        clock.advance(aheadMs);
        const { organizationId, committed } = await linkBoth(t, reader, statement, clock);
        assert.equal(committed, 1);
        await isOneChain(t, organizationId, 3);
      });
});
