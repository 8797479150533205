/** The watch on a log that was tampered with: the gauge is 0, and no chain blocks the verification of the others. */
import assert from 'node:assert/strict';
import { after, it as test } from 'node:test';
import { environment, execute, startApp, type TestApp } from '../../../../test/support/harness.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createApp } from '../../../app.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { createLog } from '../../../kernel/observability/log.ts';

let t: TestApp;
/** Each test has its own log, with few chains. */
const it = (what: string, work: () => Promise<void>) =>
  test(what, async () => {
    t = await startApp({ LOG_LEVEL: 'error' });
    await work();
  });

const metric = async (pattern: RegExp) => pattern.exec(await t.app.metrics.text())?.[1];
const gauge = () => metric(/^service_audit_chain_integrity (\d)$/m);
const problems = () => t.logs.map((line) => JSON.parse(line).finding?.problem).filter(Boolean);
const asIntruder = (text: string) =>
  execute(t.databaseUrl, `set session_replication_role = replica; ${text}`);
const edited = (organizationId: string, sequence: number) =>
  asIntruder(`update audit_events set user_agent = 'edited' where event_id =
    (select event_id from ${auditLinks} l where organization_id = '${organizationId}' and sequence = ${sequence})`);

/** A chain with the given number of events per checkpoint. */
const chainOf = (...perCheckpoint: number[]) => chainOfOrganization(t.app.ids.uuid(), perCheckpoint);

async function chainOfOrganization(
  organizationId: string,
  perCheckpoint: readonly number[],
): Promise<string> {
  for (const events of perCheckpoint) {
    await recordEvents(t, organizationId, events);
    t.clock.advance(1_000);
    await t.app.audit.linkAll();
  }
  return organizationId;
}

const rounds = async (count: number) => {
  for (let round = 0; round < count; round += 1) await t.app.audit.watch().catch(() => {});
};

it('reads an intact log in bundles, never row by row', async () => {
  await chainOf(1, 1_500, 700);
  await rounds(3);
  assert.equal(await gauge(), '1');
  const read = (name: string) =>
    metric(new RegExp(`^service_db_query_duration_seconds_count{operation="${name}"} (\\d+)$`, 'm'));
  assert.ok(Number(await read('audit.events.bundle')) > 0);
  assert.equal(await read('audit.links.read'), undefined);
});

it('finds an edit of new events in the first round, beside nine chains that grow as well', async () => {
  const busy = await chainOf(10);
  const others: string[] = [];
  for (let other = 0; other < 9; other += 1) others.push(await chainOf(1));
  await rounds(1);
  assert.equal(await gauge(), '1');
  for (const other of others) await recordEvents(t, other, 1);
  await recordEvents(t, busy, 2_000);
  await t.app.audit.linkAll();
  await edited(busy, 60);
  await rounds(1);
  assert.equal(await gauge(), '0');
});

it('finds an edit in a chain that it has not seen before', async () => {
  for (let other = 0; other < 5; other += 1) await chainOf(2);
  await edited(await chainOf(3), 1);
  await rounds(1);
  assert.equal(await gauge(), '0');
});

it('raises the alarm when the checkpoint where it would start has no valid signature', async () => {
  // Old links are verified in the order of the organization ids, and the first chain fills a round.
  await chainOfOrganization('00000000-0000-4000-8000-000000000001', [2_600]);
  t.clock.advance(3_600_000);
  const last = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
  const organizationId = await chainOfOrganization(last, [1_000, 1_000, 6_000, 6_000]);
  await asIntruder(`update audit_tree_heads set signed = left(signed, -4) || 'AAAA'
    where number = (select tree from audit_segments where organization_id = '${organizationId}' and number = 2)`);
  // The newest ten thousand links start after it.
  await rounds(1);
  assert.deepEqual(problems(), [
    'tree head 4 differs from its signed text, or does not follow from the one before it',
    'tree head 3 has no valid signature by a trusted key',
  ]);
});

it('verifies the other chains though a checkpoint of one is missing', async () => {
  const held = await chainOf(...Array.from({ length: 8 }, () => 500));
  const other = await chainOf(3);
  await rounds(8);
  assert.equal(await gauge(), '1');
  t.clock.advance(3_600_000);
  await asIntruder(`delete from audit_segments where organization_id = '${held}' and number = 2`);
  await rounds(12);
  await edited(other, 2);
  await rounds(12);
  const named = (id: string) => t.logs.some((line) => line.includes('NOT INTACT') && line.includes(id));
  assert.deepEqual([named(held), named(other)], [true, true]);
});

it('verifies the last of many small chains within a few rounds', async () => {
  const last = await chainOfOrganization('ffffffff-ffff-4fff-bfff-ffffffffffff', [3]);
  for (let other = 0; other < 30; other += 1) await recordEvents(t, t.app.ids.uuid(), 1);
  await t.app.audit.linkAll();
  t.clock.advance(3_600_000);
  await rounds(2);
  assert.equal(await gauge(), '1');
  t.clock.advance(3_600_000);
  await edited(last, 2);
  await rounds(2);
  assert.equal(await gauge(), '0');
});

it('finds a row that was inserted among the processed transactions', async () => {
  const organizationId = await chainOf(3);
  await rounds(2);
  await asIntruder(
    `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical, seal, appended_in)
     select gen_random_uuid(), organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at, canonical, seal, '5'
     from audit_events where organization_id = '${organizationId}' limit 1`,
  );
  await rounds(6);
  assert.deepEqual(problems(), ['the event has no link: it was not recorded by this service']);
});

const timeOfLink = (time: string) =>
  `records = overlay(records placing timestamptz_send(${time}) from 17 for 8)`;

for (const [what, assignment] of [
  ['the time of a link is infinite', timeOfLink("timestamptz 'infinity'")],
  ['the time of a link is infinitely long ago', timeOfLink("timestamptz '-infinity'")],
  ['a checkpoint was taken in the year 290000', "taken_at = '290000-01-01'"],
  ['a checkpoint was never taken', "taken_at = 'infinity'"],
] as const)
  it(`verifies the other chains when ${what}`, async () => {
    const organizationId = await chainOf(3, 3);
    const other = await chainOf(3);
    await rounds(6);
    assert.equal(await gauge(), '1');
    await asIntruder(`update audit_segments set ${assignment} where organization_id = '${organizationId}'`);
    await edited(other, 2);
    await rounds(10);
    assert.equal(await gauge(), '0');
    const answer = await t.call('GET', `/api/v1/audit/verify?organizationId=${organizationId}`, {
      token: await t.token(),
    });
    assert.deepEqual([answer.status, answer.json.verified], [200, false]);
    const named = (id: string) => t.logs.some((line) => line.includes('NOT INTACT') && line.includes(id));
    assert.deepEqual([named(organizationId), named(other)], [true, true]);
  });

const copyOf = (organizationId: string, sequence: number, changes: Record<string, string>) => {
  const columns = {
    event_id: 'e.event_id',
    organization_id: 'e.organization_id',
    agent_id: 'e.agent_id',
    action: 'e.action',
    outcome: 'e.outcome',
    ip_address: 'e.ip_address',
    user_agent: 'e.user_agent',
    metadata: 'e.metadata',
    occurred_at: 'e.occurred_at',
    canonical: 'e.canonical',
    seal: 'e.seal',
    appended_in: "'5'",
    ...changes,
  };
  return `insert into audit_events (${Object.keys(columns).join()}) select ${Object.values(columns).join()}
    from audit_events e join ${auditLinks} l on l.event_id = e.event_id
    where l.organization_id = '${organizationId}' and l.sequence = ${sequence};`;
};

const forged = '00000000-0000-7000-8000-00000000f0f0';
const withForged = (records: string) => `uuid_send('${forged}') || substr(${records}, 17, 40)`;

/** A copy of the first segment of a chain with some columns changed. */
const copySegment = (organizationId: string, changes: Record<string, string>) => {
  const columns =
    'organization_id, number, size, taken_at, first_appended_in, last_appended_in, tree, leaf_index, taken_on, head, previous, proof, records'.split(
      ', ',
    );
  return `insert into audit_segments (${columns}) select ${columns.map((column) => changes[column] ?? column)}
    from audit_segments where organization_id = '${organizationId}' and number = 1`;
};

for (const [what, tampering] of [
  [
    'a forged event has a link in a segment of the size 0',
    (id: string) => `${copyOf(id, 2, { event_id: `'${forged}'` })}
      ${copySegment(id, { number: '0', size: '0', records: withForged('records') })}`,
  ],
  [
    'a forged event has a time of tomorrow',
    (id: string) =>
      copyOf(id, 2, { event_id: `'${forged}'`, occurred_at: "e.occurred_at + interval '1 day'" }),
  ],
  [
    'a forged event is older than the chain',
    (id: string) =>
      `select audit_ensure_partition('1969-07-20');
       ${copyOf(id, 2, { event_id: `'${forged}'`, occurred_at: "'1969-07-20T20:17:40Z'" })}`,
  ],
  [
    'a segment without a signature follows the last one of an idle chain',
    (id: string) =>
      copySegment(id, {
        number: 'number + 1',
        size: 'size + 1',
        records: withForged('records'),
        tree: 'null',
      }),
  ],
  ['there is a checkpoint with the number 0', (id: string) => copySegment(id, { number: '0' })],
] as const)
  it(`raises the alarm when ${what}, as verification does`, async () => {
    const organizationId = await chainOf(3);
    await rounds(4);
    assert.equal(await gauge(), '1');
    t.clock.advance(3_600_000);
    await asIntruder(tampering(organizationId));
    await rounds(6);
    assert.equal(await gauge(), '0');
    assert.ok((await t.app.audit.verify(organizationId)).finding);
  });

const forgedSegment = (organizationId: string) =>
  copySegment(organizationId, { number: 'number + 1', size: 'size + 1', records: withForged('records') });
const removeForged = (organizationId: string) =>
  asIntruder(`delete from audit_segments where organization_id = '${organizationId}' and size = 4`);

it('events recorded while a chain was broken are linked once it is repaired and the progress is reset', async () => {
  const organizationId = await chainOf(3);
  await asIntruder(forgedSegment(organizationId));
  await recordEvents(t, organizationId, 2);
  // A process that has not written the chain reads its head.
  const config = loadConfig(environment(t.databaseUrl));
  const other = await createApp({ config, log: createLog({ level: 'silent' }), clock: t.clock });
  after(() => other.close());
  await other.prepare();
  await other.audit.linkAll();
  assert.ok((await other.audit.verify(organizationId)).finding);
  await removeForged(organizationId);
  await t.sql("update audit_progress set settled_before = '0'");
  const { checked, finding } = await t.app.audit.verify(organizationId);
  assert.deepEqual([checked, finding], [5, undefined]);
  await recordEvents(t, organizationId, 1);
  assert.equal((await t.app.audit.verify(organizationId)).checked, 6);
  assert.equal(await gauge(), '1');
});

it('a process that wrote a chain goes on from its own head, and the chain is whole again once it is repaired', async () => {
  const organizationId = await chainOf(3);
  await asIntruder(forgedSegment(organizationId));
  await recordEvents(t, organizationId, 2);
  assert.ok((await t.app.audit.verify(organizationId)).finding);
  await removeForged(organizationId);
  const { checked, finding } = await t.app.audit.verify(organizationId);
  assert.deepEqual([checked, finding], [5, undefined]);
});
