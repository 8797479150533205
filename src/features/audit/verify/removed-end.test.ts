/** The owner of the database removes the end of a chain and restarts the service: no process remembers it. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { runCommand } from '../../../../test/support/command-line.ts';
import { environment, execute, startApp, type TestApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
const gaugeOf = async ({ app }: TestApp) =>
  /^service_audit_chain_integrity (\d)$/m.exec(await app.metrics.text())?.[1];
const verify = async (t: TestApp, organizationId?: string) => {
  const query = organizationId === undefined ? '' : `?organizationId=${organizationId}`;
  const { status, json } = await t.call('GET', `/api/v1/audit/verify${query}`, { token: await t.token() });
  assert.equal(status, 200);
  return json.verified;
};
const numbersOf = async (t: TestApp, organizationId: string) =>
  (
    await t.sql<{ number: number }>(
      'select number::int from audit_segments where organization_id = $1 order by 1',
      [organizationId],
    )
  ).map(({ number }) => number);

/** Three chains. That of `victim` has two segments; its second is alone in its tree, and the other chains grew afterwards. */
async function prepare() {
  const t = await startApp({ LOG_LEVEL: 'error' });
  const [victim, active, quiet] = [t.app.ids.uuid(), t.app.ids.uuid(), t.app.ids.uuid()];
  const grow = async (organizationId: string, events: number) => {
    await recordEvents(t, organizationId, events);
    t.clock.advance(1_000);
    await t.app.audit.linkAll();
  };
  await recordEvents(t, quiet, 1);
  await grow(victim, 3);
  await grow(victim, 2);
  await grow(active, 1);
  const attack = (statements: string) =>
    execute(t.databaseUrl, `set session_replication_role = replica; ${statements}`);
  const restart = () => startApp({ LOG_LEVEL: 'error' }, t);
  return { t, victim, active, quiet, attack, restart };
}

const events = (organizationId: string, from = 2) =>
  `delete from audit_events where event_id in
     (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and number >= ${from});`;
const segments = (organizationId: string, from = 2) =>
  `delete from audit_segments where organization_id = '${organizationId}' and number >= ${from};`;
const itsTreeHead = (organizationId: string) =>
  `delete from audit_tree_heads where number =
     (select tree from audit_segments where organization_id = '${organizationId}' and number = 2);`;

describe('after a restart', () => {
  for (const [what, removal] of Object.entries({
    'the newest segment and its events': (id: string) => events(id) + segments(id),
    'the newest segment': (id: string) => segments(id),
    'the whole chain': (id: string) => events(id, 1) + segments(id, 1),
    'the newest segment, its events and its tree head': (id: string) =>
      events(id) + itsTreeHead(id) + segments(id),
  }))
    it(`without ${what}: verified false, gauge 0, and no checkpoint has its number`, async () => {
      const { t, victim, active, attack, restart } = await prepare();
      await attack(removal(victim));
      const left = await numbersOf(t, victim);
      const restarted = await restart();
      const { audit } = restarted.app;
      await recordEvents(restarted, victim, 1);
      await recordEvents(restarted, active, 1);
      await audit.linkAll();
      assert.deepEqual(await numbersOf(t, victim), left);
      assert.deepEqual(await numbersOf(t, active), [1, 2]);
      assert.equal(await gaugeOf(restarted), '0');
      assert.match(restarted.logs.join(), /THE AUDIT LOG IS NOT INTACT/);

      const again = await restart();
      assert.equal(await verify(again), false);
      assert.equal(await verify(again, victim), false);
      assert.equal(await verify(again, active), true);
      const watching = await restart();
      await watching.app.audit.watch();
      assert.equal(await gaugeOf(watching), '0');
      for (let round = 0; round < 3; round += 1) await watching.app.audit.watch();
      assert.equal(await gaugeOf(watching), '0');
    });

  it('a period that reaches the end of the chain: verified false', async () => {
    const { t, victim, attack, restart } = await prepare();
    await attack(events(victim) + segments(victim));
    const restarted = await restart();
    const period = { from: t.clock.now() - 3_600_000, to: t.clock.now() };
    const { finding } = await restarted.app.audit.verify(victim, period);
    assert.equal(finding?.code, 'CHAIN_END_MISSING');
  });

  it('a period after the last checkpoint that is left: verified false', async () => {
    const { t, victim, attack, restart } = await prepare();
    // More than the allowance for the time of links: only a part of the chain is verified.
    t.clock.advance(2 * 3_600_000);
    await recordEvents(t, victim, 1);
    await t.app.audit.linkAll();
    await attack(events(victim, 3) + segments(victim, 3));
    const restarted = await restart();
    const period = { from: t.clock.now() - 3_600_000, to: t.clock.now() };
    const { finding } = await restarted.app.audit.verify(victim, period);
    assert.equal(finding?.code, 'CHAIN_END_MISSING');
  });

  it('without the last day of all chains: verified false', async () => {
    const { t, victim, attack, restart } = await prepare();
    t.clock.advance(dayMs);
    await t.app.audit.prepare();
    await recordEvents(t, victim, 2);
    await t.app.audit.linkAll();
    const day = new Date(t.clock.now()).toISOString().slice(0, 10).replaceAll('-', '');
    await attack(`drop table audit_events_${day}, audit_segments_${day}`);
    const restarted = await restart();
    assert.equal(await verify(restarted), false);
    assert.equal(await verify(restarted, victim), false);
  });

  it('countersign audit verify names the tree head, for all chains and for one', async () => {
    const { t, victim, attack } = await prepare();
    const run = (...args: string[]) =>
      runCommand(['audit', 'verify', ...args], { env: environment(t.databaseUrl), cwd: tmpdir() });
    await attack(events(victim) + segments(victim));
    const all = await run();
    assert.equal(all.code, 1);
    assert.match(
      all.stdout + all.stderr,
      /NOT INTACT.*tree head \d+ signs 1 checkpoint, and 0 of them are left/s,
    );
    const one = await run('--organization', victim);
    assert.equal(one.code, 1);
    assert.match(one.stdout + one.stderr, /NOT INTACT.*this chain ends before it/s);
  });

  it('links the chain of an organization that is created later', async () => {
    const { t, victim, attack, restart } = await prepare();
    await attack(events(victim) + segments(victim));
    const restarted = await restart();
    const created = await restarted.call('POST', '/api/v1/organizations', {
      token: await restarted.token(),
      payload: { name: 'New', slug: 'new' },
    });
    assert.equal(created.status, 201);
    await restarted.app.audit.linkAll();
    assert.deepEqual(await numbersOf(t, created.json.organizationId), [1]);
  });

  it('a chain that is left with its organization.created begins no second time', async () => {
    const { t, active, attack, restart } = await prepare();
    const { json } = await t.call('POST', '/api/v1/organizations', {
      token: await t.token(),
      payload: { name: 'Old', slug: 'old' },
    });
    const old: string = json.organizationId;
    t.clock.advance(1_000);
    await t.app.audit.linkAll();
    t.clock.advance(1_000);
    await recordEvents(t, active, 1);
    await t.app.audit.linkAll();
    await attack(
      `delete from audit_events where organization_id = '${old}' and action <> 'organization.created';
       delete from audit_segments where organization_id = '${old}';
       update audit_events set appended_in = pg_current_xact_id() where organization_id = '${old}';
       update audit_progress set settled_before = '0'`,
    );
    const restarted = await restart();
    await recordEvents(restarted, old, 1);
    await restarted.app.audit.linkAll();
    assert.deepEqual(await numbersOf(t, old), []);
    assert.equal(await gaugeOf(restarted), '0');
  });

  it('links and verifies again once the rows are restored and the progress is reset', async () => {
    const { t, victim, quiet, attack, restart } = await prepare();
    await t.sql('create table saved_events as select * from audit_events');
    await t.sql('create table saved_segments as select * from audit_segments');
    await attack(events(victim) + segments(victim));
    const restarted = await restart();
    await recordEvents(restarted, victim, 1);
    await recordEvents(restarted, quiet, 1);
    await restarted.app.audit.linkAll();
    // It cannot be told apart from the victim: its chain ends before the incomplete tree, too.
    assert.deepEqual(await numbersOf(t, quiet), [1]);
    await t.sql('insert into audit_events select * from saved_events on conflict do nothing');
    await t.sql('insert into audit_segments select * from saved_segments on conflict do nothing');
    await t.sql(`update audit_progress set settled_before = '0'`);
    await restarted.app.audit.linkAll();
    assert.deepEqual(
      [await numbersOf(t, victim), await numbersOf(t, quiet)],
      [
        [1, 2, 3],
        [1, 2],
      ],
    );
    assert.equal(await verify(restarted), true);
    await restarted.app.audit.watch();
    assert.equal(await gaugeOf(restarted), '1');
  });
});

it('the watch does not report a lasting finding as resolved', async () => {
  const { t, victim, attack } = await prepare();
  await attack(events(victim) + segments(victim));
  const watching = await startApp({ LOG_LEVEL: 'warn' }, t);
  for (let round = 0; round < 3; round += 1) await watching.app.audit.watch();
  assert.equal(await gaugeOf(watching), '0');
  assert.doesNotMatch(watching.logs.join(), /intact again/);
});

describe('in a running process', () => {
  it('extends no chain whose end was removed, also if it has never written to it', async () => {
    const { t, victim, active, attack, restart } = await prepare();
    const running = await restart();
    const link = async (node: TestApp, organizationId: string) => {
      await recordEvents(node, organizationId, 1);
      t.clock.advance(1_000);
      await node.app.audit.linkAll();
    };
    await link(running, active);
    const later = t.app.ids.uuid();
    for (let segment = 0; segment < 2; segment += 1) await link(t, later);
    await link(running, active);
    for (const organizationId of [victim, later]) {
      await attack(events(organizationId) + segments(organizationId));
      await link(running, organizationId);
      assert.deepEqual(await numbersOf(t, organizationId), [1]);
      assert.match(running.logs.join(), new RegExp(organizationId));
    }
    assert.equal(await gaugeOf(running), '0');
  });
});

describe('an intact log', () => {
  it('verified true after a restart, also when retention has dropped the first days', async () => {
    const { t, victim, quiet, restart } = await prepare();
    for (const days of [1, 90, 1, 200]) {
      t.clock.advance(days * dayMs);
      const node = await restart();
      await node.app.audit.retain();
      assert.equal(await verify(node), true, `${days} days later`);
      assert.equal(await verify(node, quiet), true);
      await recordEvents(node, victim, 2);
      await node.app.audit.linkAll();
      await node.app.audit.retain();
      await node.app.audit.watch();
      assert.equal(await gaugeOf(node), '1');
      assert.deepEqual(node.logs, []);
    }
  });

  it('two nodes that take turns compare only new tree heads', async () => {
    const { t, victim, active, restart } = await prepare();
    const other = await restart();
    for (let turn = 0; turn < 6; turn += 1)
      for (const node of [t, other]) {
        await recordEvents(node, turn % 2 ? victim : active, 1);
        await node.app.audit.linkAll();
      }
    assert.equal(await verify(t), true);
    assert.deepEqual([...t.logs, ...other.logs], []);
  });
});
