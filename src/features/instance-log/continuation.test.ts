/**
 * A database that went back, or that is another one: restored from an older backup, cut off at its end, or continued beside the log that
 * a witness has cosigned. The next start finds it, and nothing is linked or signed.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { copyDatabase, execute, startApp, type TestApp } from '../../../test/support/harness.ts';
import {
  newLogKey,
  startWitness,
  verifierKeyOf,
  witnessVariables,
} from '../../../test/support/peers/witnesses.ts';
import { auditLinks, recordEvents } from '../../../test/support/scenarios/audit-log.ts';

const AUDIT_LOG_KEY = newLogKey();
const witness = await startWitness('witness.example', [verifierKeyOf(AUDIT_LOG_KEY)]);
const alone = { AUDIT_LOG_KEY, LOG_LEVEL: 'error' };
const witnessed = { ...alone, ...witnessVariables([witness], 1) };

/** Each change is an entry of the log. */
async function change(t: TestApp, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await recordEvents(t, t.operator.organizationId, 1);
    await t.app.audit.linkAll();
    await t.app.instanceLog.grow();
  }
}
async function round(t: TestApp): Promise<void> {
  t.clock.advance(1_000);
  assert.equal(await t.app.instanceLog.witness(), 'done');
}

/** All that is signed. */
const signedIn = async (databaseUrl: string) => ({
  heads: await execute(databaseUrl, 'select number, signed from audit_tree_heads order by number'),
  logs: await execute<{ size: number; checkpoint: string }>(
    databaseUrl,
    'select size::int, checkpoint from instance_logs order by log_number',
  ),
});
const sizeIn = async (databaseUrl: string) => (await signedIn(databaseUrl)).logs.at(-1)?.size ?? 0;
const verify = async (t: TestApp) =>
  (await t.call('GET', '/api/v1/audit/verify', { token: await t.token() })).json;
const gaugeOf = async ({ app }: TestApp) =>
  /^service_audit_chain_integrity (\d)$/m.exec(await app.metrics.text())?.[1];

const first = await startApp(witnessed);
await change(first, 2);
await round(first);
await first.stop();
const backup = await copyDatabase(first.databaseUrl);
const backupSize = await sizeIn(backup);

const start = (databaseUrl: string, variables: Record<string, string> = witnessed) =>
  startApp(variables, { ...first, databaseUrl });

const second = await start(first.databaseUrl);
await change(second, 3);
await round(second);
await second.stop();
const newest = await copyDatabase(first.databaseUrl);
const newestSize = await sizeIn(newest);

/** Removes what was linked and signed after the backup, in all tables. */
async function cutEnd(databaseUrl: string): Promise<void> {
  const [old] = (await signedIn(backup)).logs;
  await execute(
    databaseUrl,
    `set session_replication_role = replica;
     delete from audit_events where event_id in (
       select l.event_id from ${auditLinks} l join audit_segments s using (organization_id, number) where s.tree > ${backupSize});
     delete from audit_segments where tree > ${backupSize};
     delete from audit_tree_heads where number > ${backupSize};
     update instance_logs set size = ${backupSize}, checkpoint = '${old?.checkpoint}';
     update instance_log_tiles set hashes = substring(hashes for ${backupSize * 32});
     delete from instance_log_checkpoints;
     delete from instance_log_witnesses`,
  );
}

/** Without witnesses nothing stops it. */
async function otherHistory(entries: number): Promise<string> {
  const databaseUrl = await copyDatabase(backup);
  const insider = await start(databaseUrl, alone);
  await change(insider, entries);
  assert.equal(await sizeIn(databaseUrl), backupSize + entries);
  assert.equal((await verify(insider)).verified, true);
  await insider.stop();
  return databaseUrl;
}

const larger = {
  code: /"WITNESS_KNOWS_LARGER_LOG"/,
  reason: `the witness witness.example knows a tree of ${newestSize} entries, and this database has ${backupSize}: the database is older`,
};
const other = {
  code: /"WITNESS_KNOWS_OTHER_LOG"/,
  reason: `the witness witness.example knows another tree of ${newestSize} entries than this database has`,
};

it('the newest database goes on after a restart', async () => {
  const t = await start(newest);
  assert.deepEqual((await verify(t)).witnessed.checkpointSize, newestSize);
  await t.stop();
});

/** A start with the witness signs nothing, and tells why. */
async function isRefused(databaseUrl: string, { code, reason }: typeof larger): Promise<void> {
  const before = await signedIn(databaseUrl);
  const t = await start(databaseUrl);
  await recordEvents(t, t.operator.organizationId, 1);
  await t.app.audit.linkAll();
  await assert.rejects(t.app.instanceLog.grow(), ({ message }: Error) => {
    assert.ok(message.includes(reason), message);
    return true;
  });
  assert.equal(await gaugeOf(t), '0');
  assert.match(t.logs.join(), code);
  // It issues tokens.
  assert.equal((await verify(t)).verified, false);
  await t.app.audit.linkAll();
  assert.deepEqual(await signedIn(databaseUrl), before);
}

it('an older backup: each start finds it, links no event and signs nothing, until another log begins', async () => {
  const databaseUrl = await copyDatabase(backup);
  await isRefused(databaseUrl, larger);
  await isRefused(databaseUrl, larger);
  const before = await signedIn(databaseUrl);
  const t = await start(databaseUrl, { ...witnessed, AUDIT_LOG_KEY: newLogKey() });
  await change(t);
  const after = await signedIn(databaseUrl);
  assert.deepEqual(after.logs.slice(0, -1), before.logs);
  assert.ok(after.heads.length > before.heads.length);
  assert.equal((await verify(t)).verified, true);
});

it('an end that was cut off in all tables, which the database alone does not show', async () => {
  const databaseUrl = await copyDatabase(newest);
  await cutEnd(databaseUrl);
  const unwitnessed = await start(databaseUrl, alone);
  assert.equal((await verify(unwitnessed)).verified, true);
  await isRefused(databaseUrl, larger);
});

for (const more of [2, 0])
  it(`another history, ${more === 0 ? 'of the same length' : 'which is longer'}`, async () => {
    await isRefused(await otherHistory(newestSize - backupSize + more), other);
  });

it('an older backup, after the witness has seen a fork: it cosigns no more, and still says what it knows', async () => {
  await isRefused(await copyDatabase(backup), larger);
});

it('after a fork, the witness cosigns the newest database no more', async () => {
  const t = await start(newest);
  await change(t);
  await round(t);
  const { json } = await t.call('GET', '/api/v1/audit/witnesses', { token: await t.token() });
  assert.match(json.witnesses[0].failing, /has seen a fork/);
  assert.equal(json.witnessed.checkpointSize, newestSize);
});
