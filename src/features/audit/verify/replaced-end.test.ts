/** The newest rows are removed or replaced by older ones: with two processes, of one table only, between two organizations. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { execute, startApp, type TestApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const tables = ['audit_events', 'audit_segments', 'audit_tree_heads'] as const;

/** Two chains that grew in each of three passes. `backup_…` is a copy of each table after the second. */
async function prepare() {
  const t = await startApp({ LOG_LEVEL: 'error' });
  const [one, other] = [t.app.ids.uuid(), t.app.ids.uuid()];
  const grow = async (node: TestApp, ...organizations: string[]) => {
    for (const organizationId of organizations) await recordEvents(node, organizationId, 2);
    t.clock.advance(1_000);
    await node.app.audit.linkAll();
  };
  await t.app.audit.linkAll();
  await grow(t, one, other);
  await grow(t, one, other);
  for (const table of tables) await t.sql(`create table backup_${table} as select * from ${table}`);
  await grow(t, one, other);
  const attack = (statements: string) =>
    execute(t.databaseUrl, `set session_replication_role = replica; ${statements}`);
  const treeHeads = async () =>
    new Map(
      (
        await t.sql<{ number: number; signed: string }>('select number::int, signed from audit_tree_heads')
      ).map(({ number, signed }) => [number, signed]),
    );
  const signed = await treeHeads();
  return {
    t,
    one,
    other,
    grow,
    attack,
    newest: Math.max(...signed.keys()),
    restart: () => startApp({ LOG_LEVEL: 'error' }, t),
    /** Numbers that were signed again, for another tree. */
    async signedTwice() {
      return [...(await treeHeads())].flatMap(([number, text]) =>
        signed.has(number) && signed.get(number) !== text ? [number] : [],
      );
    },
    countTreeHeads: async () => (await treeHeads()).size,
  };
}

const restore = (table: (typeof tables)[number]) => {
  const key = table === 'audit_events' ? 'event_id' : '(number, size)';
  return `delete from ${table} where ${key} not in (select ${key.replace(/[()]/g, '')} from backup_${table});`;
};
const gaugeOf = async ({ app }: TestApp) =>
  /^service_audit_chain_integrity (\d)$/m.exec(await app.metrics.text())?.[1];
const verified = async (t: TestApp) => {
  const { status, json } = await t.call('GET', '/api/v1/audit/verify', { token: await t.token() });
  assert.equal(status, 200);
  return json.verified;
};

it('a process finds that another one has continued from an earlier state, and links nothing', async () => {
  const { t, one, other, grow, attack, restart, newest, countTreeHeads } = await prepare();
  await attack(
    `delete from audit_events where event_id in
       (select l.event_id from ${auditLinks} l join audit_segments s using (organization_id, number) where s.tree = ${newest});
     delete from audit_segments where tree = ${newest};
     delete from audit_tree_heads where number = ${newest}`,
  );
  // A new process cannot know that there was more.
  const restarted = await restart();
  for (let pass = 0; pass < 2; pass += 1) await grow(restarted, one, other);
  const count = await countTreeHeads();
  assert.equal(count, newest + 1);
  await grow(t, other, t.app.ids.uuid());
  assert.equal(await countTreeHeads(), count);
  assert.match(t.logs.join(), /TREE_HEAD_LOST/);
  await t.app.audit.watch();
  assert.equal(await gaugeOf(t), '0');
  assert.equal((await t.app.audit.verify(one)).finding?.code, 'CHECKPOINT_LOST');
});

it('signs the number of a removed tree head no second time, also for a new organization', async () => {
  const { t, attack, restart, newest, signedTwice, countTreeHeads } = await prepare();
  await attack(`delete from audit_tree_heads where number = ${newest}`);
  const restarted = await restart();
  const created = await restarted.call('POST', '/api/v1/organizations', {
    token: await restarted.token(),
    payload: { name: 'New', slug: 'new' },
  });
  assert.equal(created.status, 201);
  for (const node of [restarted, t]) {
    await node.app.audit.linkAll();
    assert.deepEqual(await signedTwice(), []);
    assert.equal(await countTreeHeads(), newest - 1);
    assert.equal(await gaugeOf(node), '0');
  }
  assert.equal(await verified(restarted), false);
});

describe('verified false after a restart, and no number is signed twice', () => {
  for (const table of tables)
    it(`with the rows of an older backup in ${table}`, async () => {
      const { one, grow, attack, restart, signedTwice } = await prepare();
      await attack(restore(table));
      const restarted = await restart();
      await grow(restarted, one, restarted.app.ids.uuid());
      assert.equal(await verified(restarted), false);
      assert.equal(await gaugeOf(restarted), '0');
      assert.deepEqual(await signedTwice(), []);
    });

  for (const swapped of [['audit_segments'], ['audit_events'], ['audit_segments', 'audit_events']])
    it(`with the ${swapped.join(' and ')} of two organizations swapped`, async () => {
      const { one, other, grow, attack, restart, signedTwice } = await prepare();
      const unused = '00000000-0000-4000-8000-000000000000';
      const move = (table: string, from: string, to: string) =>
        `update ${table} set organization_id = '${to}' where organization_id = '${from}';`;
      for (const table of swapped)
        await attack(move(table, one, unused) + move(table, other, one) + move(table, unused, other));
      const restarted = await restart();
      await grow(restarted, one, other);
      assert.equal(await verified(restarted), false);
      assert.equal(await gaugeOf(restarted), '0');
      assert.deepEqual(await signedTwice(), []);
    });
});
