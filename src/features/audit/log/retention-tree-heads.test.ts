/** Retention signs which tree heads it has dropped: no further one can be removed at the old end of the log. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { runCommand } from '../../../../test/support/command-line.ts';
import { environment, execute, startApp, type TestApp } from '../../../../test/support/harness.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createSigner } from '../../../adapters/keys/keys.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { type Anchor, sign, unverifiedClaims } from '../chain/statements.ts';

const dayMs = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Chains that grew on four days. Retention has dropped the tree heads of the first two. `idle` has events of the third only. */
async function prepare() {
  const t = await startApp({ LOG_LEVEL: 'error' });
  const first = t.clock.now();
  const [busy, idle] = [t.app.ids.uuid(), t.app.ids.uuid()];
  for (let day = 0; day < 4; day += 1) {
    await t.app.audit.prepare();
    await recordEvents(t, busy, 2);
    await t.app.audit.linkAll();
    await recordEvents(t, day === 2 ? idle : busy, 2);
    await t.app.audit.linkAll();
    t.clock.advance(dayMs);
  }
  // A day's tree heads go a day after its events.
  t.clock.advance(first + (90 + 1 + 2) * dayMs - t.clock.now());
  await t.app.audit.prepare();
  await recordEvents(t, busy, 2);
  await t.app.audit.linkAll();
  await t.app.audit.retain();
  const attack = (statements: string) =>
    execute(t.databaseUrl, `set session_replication_role = replica; ${statements}`);
  return { t, first, busy, idle, attack, thirdDay: dayOf(first + 2 * dayMs) };
}

const numbersOf = async (t: TestApp) =>
  (await t.sql<{ number: number }>('select number::int from audit_tree_heads order by 1')).map(
    ({ number }) => number,
  );
const anchors = (t: TestApp) =>
  t.sql<{ organization_id: string; number: number; signed: string }>(
    `select distinct on (organization_id) organization_id, number::int, signed from audit_anchors
     order by organization_id, number desc`,
  );
const verified = async (t: TestApp) => {
  const node = await startApp({ LOG_LEVEL: 'error' }, t);
  const { status, json } = await node.call('GET', '/api/v1/audit/verify', { token: await node.token() });
  assert.equal(status, 200);
  return json.verified;
};
const removeDay = (day: string) => `
  delete from audit_events where (occurred_at at time zone 'UTC')::date = '${day}';
  delete from audit_segments where taken_on = '${day}';
  delete from audit_tree_heads where taken_on = '${day}';`;

it('the anchor names the highest dropped tree head, and the rest verifies', async () => {
  const { t } = await prepare();
  const [lowest = 0] = await numbersOf(t);
  assert.ok(lowest > 1);
  for (const { signed } of await anchors(t))
    assert.equal(unverifiedClaims('anchor', signed)?.droppedTreeHead, lowest - 1);
  assert.equal(await verified(t), true);
});

it('false: the next day was removed as well, with all its rows', async () => {
  const { t, idle, attack, thirdDay } = await prepare();
  // The anchor of `busy` would show the missing checkpoints of its own chain. That of `idle` is at its beginning.
  await attack(`${removeDay(thirdDay)} delete from audit_events where organization_id = '${idle}'`);
  assert.equal(await verified(t), false);
  const { code, stdout, stderr } = await runCommand(['audit', 'verify'], {
    env: environment(t.databaseUrl),
    cwd: tmpdir(),
  });
  assert.equal(code, 1);
  assert.match(stdout + stderr, /NOT INTACT.*tree head \d+ is missing/s);
  const restarted = await startApp({ LOG_LEVEL: 'error' }, t);
  assert.ok((await restarted.app.audit.verify(idle)).finding);
  await restarted.app.audit.watch();
  assert.match(restarted.logs.join(), /NOT INTACT/);
});

it('accepts an anchor of an earlier version, and the next retention signs the number', async () => {
  const { t } = await prepare();
  const { signingKeys, baseUrl } = loadConfig(environment(t.databaseUrl));
  const signer = await createSigner({
    ...signingKeys,
    previousPublicKeys: [],
    issuer: baseUrl,
    clock: t.clock,
  });
  for (const { organization_id, number, signed } of await anchors(t)) {
    const { droppedTreeHead, ...claims } = unverifiedClaims('anchor', signed) as Anchor;
    await execute(
      t.databaseUrl,
      `set session_replication_role = replica; update audit_anchors set signed = '${await sign(signer, 'anchor', claims)}'
       where organization_id = '${organization_id}' and number = ${number}`,
    );
  }
  assert.equal(await verified(t), true);
  t.clock.advance(dayMs);
  await t.app.audit.prepare();
  await t.app.audit.retain();
  const [lowest = 0] = await numbersOf(t);
  for (const { signed } of await anchors(t))
    assert.equal(unverifiedClaims('anchor', signed)?.droppedTreeHead, lowest - 1);
  assert.equal(await verified(t), true);
});

it('drops nothing while a forged or copied tree head has the highest number', async () => {
  const { t, first, attack, thirdDay } = await prepare();
  const columns = 'taken_at, size, root, previous, key_id, signed';
  const [, second = 0, ...later] = await numbersOf(t);
  const newest = later.at(-1) ?? 0;
  t.clock.advance(first + (90 + 1 + 3) * dayMs - t.clock.now());
  const problems = () => t.logs.filter((line) => line.includes('NOT INTACT')).length;
  for (const [what, statement] of Object.entries({
    forged: `insert into audit_tree_heads (number, taken_on, ${columns})
             select ${newest - 1}, taken_on, ${columns} from audit_tree_heads where number = ${second}`,
    copied: `insert into audit_tree_heads (number, taken_on, ${columns})
             select number, '${thirdDay}', ${columns} from audit_tree_heads where number = ${newest - 1}`,
  })) {
    await attack(statement);
    const before = await numbersOf(t);
    await t.app.audit.retain();
    assert.deepEqual(await numbersOf(t), before, what);
    assert.equal(problems(), 1, what);
    t.logs.length = 0;
    await attack(`delete from audit_tree_heads where taken_on = '${thirdDay}' and number = ${newest - 1}`);
    await t.app.audit.watch();
  }
  await t.app.audit.retain();
  assert.ok(((await numbersOf(t))[0] ?? 0) > second);
});
