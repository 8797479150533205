/** An attacker removes statements of signing keys while the service is stopped, and inserts forged, back-dated events. */
import assert from 'node:assert/strict';
import { after, it as test } from 'node:test';
import { environment, execute, startApp, type TestApp } from '../../../../../test/support/harness.ts';
import { canonical, recordEvents } from '../../../../../test/support/scenarios/audit-log.ts';
import { createApp } from '../../../../app.ts';
import { loadConfig } from '../../../../kernel/config/config.ts';
import { generateKeyPair } from '../../../../kernel/config/keypair.ts';
import { createLog } from '../../../../kernel/observability/log.ts';

let t: TestApp;
let organizationId: string;
/** Each test has its own database, with one chain of three events beside the operator's. */
const it = (what: string, work: () => Promise<void>) =>
  test(what, async () => {
    t = await startApp();
    organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 3);
    await t.app.audit.linkAll();
    await work();
  });

const asIntruder = (...statements: string[]) =>
  execute(t.databaseUrl, ['set session_replication_role = replica', ...statements].join(';'));

const empty = (...tables: string[]) => tables.map((table) => `delete from ${table}`);
const evidence = ['audit_keys', 'audit_segments', 'audit_tree_heads', 'audit_anchors'];

const forged = '00000000-0000-7000-8000-00000000f0f0';
/** Well-formed, of yesterday, and without a seal. */
const forge = `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
                                         occurred_at, canonical, appended_in)
  select '${forged}', organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, moment,
         replace(replace(text, event_id::text, '${forged}'),
                 to_char(occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), '0'
  from (select *, ${canonical} as text, occurred_at - interval '1 day' as moment from audit_events where action = 'agent.created' limit 1) as copied`;

/** Starts the service again. */
async function restart(changes: Record<string, string> = {}) {
  const logs: string[] = [];
  const config = loadConfig(environment(t.databaseUrl, { LOG_LEVEL: 'error', ...changes }));
  const log = createLog({ level: 'error', destination: { write: (line) => void logs.push(line) } });
  const app = await createApp({ config, log, clock: t.clock });
  after(() => app.close());
  await app.prepare();
  const inject = (method: 'GET' | 'POST', url: string, headers: Record<string, string>, payload?: string) =>
    app.http.server.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
  const { clientId, clientSecret } = t.operator;
  const { access_token: token } = (
    await inject(
      'POST',
      '/api/v1/token',
      { 'content-type': 'application/x-www-form-urlencoded' },
      `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
    )
  ).json();
  return {
    app,
    problems: () => logs.map((line) => JSON.parse(line).finding?.problem).filter(Boolean),
    verified: async (query = ''): Promise<boolean> =>
      (await inject('GET', `/api/v1/audit/verify${query}`, { authorization: `Bearer ${token}` })).json()
        .verified,
    gauge: async () => /^service_audit_chain_integrity (\d)$/m.exec(await app.metrics.text())?.[1],
  };
}

const countIn = async (table: string): Promise<number> => {
  const [row] = await t.sql<{ rows: number }>(`select count(*)::int as rows from ${table}`);
  return row?.rows as number;
};
const evidenceCounts = () => Promise.all(evidence.map(countIn));

/** The alarm is raised at start and stays; the loops link and sign nothing. */
async function assertRefused(problem: RegExp, changes?: Record<string, string>) {
  const before = await evidenceCounts();
  const node = await restart(changes);
  assert.equal(await node.gauge(), '0');
  assert.match(node.problems()[0] ?? '', problem);
  await node.app.audit.linkAll();
  await node.app.audit.retain();
  for (let round = 0; round < 4; round += 1) await node.app.audit.watch();
  assert.equal(await node.verified(), false);
  assert.equal(await node.verified(`?organizationId=${organizationId}`), false);
  assert.equal(await node.verified('?fromDate=2020-01-01'), false);
  assert.equal(await node.gauge(), '0');
  assert.deepEqual(await evidenceCounts(), before);
  return node;
}

for (const [beside, removed] of [
  ['segments, tree heads and sealed events', ['audit_keys']],
  ['segments and sealed events', ['audit_keys', 'audit_tree_heads', 'audit_anchors']],
  ['tree heads and sealed events', ['audit_keys', 'audit_segments', 'audit_anchors']],
  ['sealed events alone', evidence],
] as const)
  it(`200, verified false: the keys were emptied beside ${beside}, and an unsealed event was inserted`, async () => {
    await asIntruder(...empty(...removed), forge);
    await assertRefused(/^audit_keys was emptied, but audit_events/);
  });

it('200, verified false: all evidence was deleted, and no event has a seal', async () => {
  await asIntruder(forge, ...empty(...evidence), `delete from audit_events where event_id <> '${forged}'`);
  await assertRefused(/^audit_keys was emptied, but audit_events was not/);
});

it('200, verified false: only an anchor is left', async () => {
  await asIntruder(
    ...empty(...evidence, 'audit_events'),
    `insert into audit_anchors values ('${organizationId}', 1, now(), 'x')`,
  );
  await assertRefused(/^audit_keys was emptied, but audit_anchors was not/);
});

it('200, verified false: the row of the current key was removed, so that it would take over again', async () => {
  const { privatePem, publicPem } = generateKeyPair();
  const previous = environment(t.databaseUrl).JWT_PUBLIC_KEY;
  const keys = {
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
    JWT_PREVIOUS_PUBLIC_KEYS: previous,
  };
  const second = await restart(keys);
  await second.app.audit.linkAll();
  assert.equal(await second.verified(), true);
  await asIntruder('delete from audit_keys where number = 2');
  await assertRefused(/^the row of audit_keys for the signing key [\w-]+ was removed/, keys);
});

it('200, verified false: the row of the current key was removed with its segments and tree heads', async () => {
  const { privatePem, publicPem } = generateKeyPair();
  const keys = { JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem };
  const second = await restart(keys);
  await second.app.audit.linkAll();
  assert.equal(await second.verified(), true);
  await asIntruder(
    `delete from audit_segments where tree in
       (select number from audit_tree_heads where key_id = (select key_id from audit_keys where number = 2))`,
    'delete from audit_tree_heads where key_id = (select key_id from audit_keys where number = 2)',
    'delete from audit_keys where number = 2',
    "update audit_progress set settled_before = '0'",
  );
  await assertRefused(/^the row of audit_keys for the signing key [\w-]+ was removed/, keys);
});

it('200, verified true again once the rows of audit_keys are restored and the forged event is deleted', async () => {
  await asIntruder('create table kept as select * from audit_keys', ...empty('audit_keys'), forge);
  const node = await assertRefused(/^audit_keys was emptied/);
  await asIntruder(
    'insert into audit_keys select * from kept',
    `delete from audit_events where event_id = '${forged}'`,
  );
  await node.app.audit.watch();
  assert.equal(await node.verified(), true);
  assert.equal(await node.gauge(), '1');
});

it('200, verified true: an empty log starts with a first key', async () => {
  await asIntruder(...empty(...evidence, 'audit_events'));
  const node = await restart();
  assert.equal(await node.verified(), true);
  assert.equal(await countIn('audit_keys'), 1);
  assert.deepEqual(node.problems(), []);
});
