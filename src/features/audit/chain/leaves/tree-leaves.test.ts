/** The comparison of tree heads with their leaves at a start: bounded statements, without the lock of the sequencer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp, type TestApp } from '../../../../../test/support/harness.ts';
import { until } from '../../../../../test/support/programs.ts';
import { holdOpen, recordEvents } from '../../../../../test/support/scenarios/audit-log.ts';
import type { Queryable } from '../../../../kernel/data/db.ts';
import { createLedger } from '../../../../kernel/ledger.ts';
import { createTreeLeaves } from './tree-leaves.ts';

const t = await startApp();
const organizations = Array.from({ length: 2_000 }, () => t.app.ids.uuid());
const trees = 4;

/** One event for each organization: a tree with as many leaves. */
async function growAll() {
  const { app, clock } = t;
  const ledger = createLedger({ clock, ids: app.ids, listeners: [app.audit.listener] });
  const entries = organizations.map((organizationId) => ({
    actor: { requestId: app.ids.uuid(), ipAddress: '192.0.2.1', userAgent: 'probe' },
    type: 'token.issued' as const,
    subject: { organizationId, agentId: app.ids.uuid(), metadata: {} },
  }));
  await app.db.transaction((tx) => ledger.recordAll(tx, entries));
  clock.advance(1_000);
  await app.audit.linkAll();
}

const readsOf = async ({ app }: TestApp) =>
  Number(
    /^service_db_query_duration_seconds_count{operation="audit.leaves"} (\d+)$/m.exec(
      await app.metrics.text(),
    )?.[1] ?? 0,
  );

describe('the first check of the tree heads', async () => {
  for (let tree = 0; tree < trees; tree += 1) await growAll();

  it('does not wait for the lock of the sequencer, and reads a bounded number of leaves in a statement', async () => {
    const restarted = await startApp({ LOG_LEVEL: 'error' }, t);
    const holder = await holdOpen(t.databaseUrl, 'lock table audit_progress in exclusive mode');
    await recordEvents(restarted, t.app.ids.uuid(), 1);
    const linking = restarted.app.audit.linkAll();
    // At most 5,000 leaves each: two trees.
    await until('the check', async () => (await readsOf(restarted)) >= trees / 2 || undefined);
    await holder.release();
    await linking;
    assert.deepEqual(restarted.logs, []);
  });

  it('continues after an error where it stopped', async () => {
    const leaves: string[] = [];
    let failsAt = 2;
    const db: Queryable = {
      ...t.app.db,
      async many(name, query) {
        if (name === 'audit.leaves') {
          leaves.push(JSON.stringify(query));
          if (leaves.length === failsAt) throw new Error('the connection was lost');
        }
        return t.app.db.many(name, query);
      },
    };
    const treeLeaves = createTreeLeaves({
      chainHeads: { dropped: async () => undefined, lastSeen: () => undefined, markSeen() {} },
      treeHeads: { signatureFinding: async () => undefined },
    });
    await assert.rejects(treeLeaves.start(db), /connection was lost/);
    failsAt = 0;
    await treeLeaves.start(db);
    assert.equal(await treeLeaves.check(db), undefined);
    const [first, second] = leaves;
    assert.equal(leaves.filter((read) => read === first).length, 1);
    assert.equal(leaves.filter((read) => read === second).length, 2);
  });

  it('the watch accepts that retention drops the tree head where it stopped', async () => {
    // A round compares at most 5,000 leaves.
    await t.app.audit.watch();
    t.clock.advance(95 * 86_400_000);
    await t.app.audit.prepare();
    await recordEvents(t, t.app.ids.uuid(), 1);
    await t.app.audit.linkAll();
    await t.app.audit.retain();
    const left = await t.sql('select number from audit_tree_heads');
    assert.equal(left.length, 1);
    for (let round = 0; round < 2; round += 1) await t.app.audit.watch();
    assert.match(await t.app.metrics.text(), /^service_audit_chain_integrity 1$/m);
  });
});
