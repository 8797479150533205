import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { environment, execute, startApp } from '../../../../test/support/harness.ts';
import {
  auditLinks,
  canonical,
  createAttacker,
  createTamperSession,
  recordEvents,
} from '../../../../test/support/scenarios/audit-log.ts';
import { createApp } from '../../../app.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { generateKeyPair } from '../../../kernel/config/keypair.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { leafHash, rootFrom } from './merkle.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const token = await t.token();
const home = t.operator.organizationId;
const get = (path: string) => t.call('GET', `/api/v1/audit${path}`, { token });
/** Without the operator's scope the token sees its own organization only. */
const tenant = await t.token('audit:read');
const verify = async (query = '') =>
  (await t.call('GET', `/api/v1/audit/verify${query}`, { token: tenant })).json;
const countOf = async (organizationId: string): Promise<number> => {
  const [row] = await t.sql<{ events: number }>(
    'select count(*)::int as events from audit_events where organization_id = $1',
    [organizationId],
  );
  return row?.events as number;
};

/** Another node on the same database, with its own keys if given. */
async function startNode(changes: Record<string, string> = {}) {
  const config = loadConfig(environment(t.databaseUrl, changes));
  const app = await createApp({ config, log: createLog({ level: 'silent' }), clock: t.clock });
  await app.prepare();
  return app;
}

/** A writing transaction on the same database server that stays open until the promise resolves. */
async function openTransaction(until: Promise<void>): Promise<{ ended: Promise<void> }> {
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const ended = t.app.db.transaction(async (tx) => {
    await tx.run('open', sql`select pg_current_xact_id()`);
    resolve();
    await until;
  });
  await open;
  return { ended };
}

describe('GET /audit/verify', () => {
  it('200: an intact log verifies, whole and in part', async () => {
    const before = new Date(t.clock.now()).toISOString();
    t.clock.advance(1_800_000);
    await t.app.audit.linkAll();
    await recordEvents(t, home, 5);
    const all = await countOf(home);
    const answer = { verified: true, checkedCount: all, fromDate: null, toDate: null, witnessed: null };
    assert.deepEqual(await verify(), answer);
    assert.deepEqual(await verify(`?fromDate=${before}`), {
      ...answer,
      checkedCount: 5,
      fromDate: before,
    });
    assert.deepEqual(await verify(`?toDate=${before}`), {
      ...answer,
      checkedCount: all - 5,
      toDate: before,
    });
    assert.deepEqual(await verify('?fromDate=2020-01-01&toDate=2020-01-02'), {
      verified: true,
      checkedCount: 0,
      fromDate: '2020-01-01T00:00:00.000Z',
      toDate: '2020-01-02T23:59:59.999Z',
      witnessed: null,
    });
  });

  it('400 VALIDATION_ERROR for an invalid date, and for a period that ends before it begins', async () => {
    for (const query of ['fromDate=yesterday', 'toDate=2020-02-31', 'fromDate=2020-01-02&toDate=2020-01-01'])
      assert.equal((await verify(`?${query}`)).code, 'VALIDATION_ERROR', query);
  });

  it('200, verified false: an edit within the period', async () => {
    const tamperSession = await createTamperSession(t);
    const last = await tamperSession.run<{ time: string }>(
      'select max(occurred_at) as time from audit_events where organization_id = $1',
      [home],
    );
    const from = Date.parse(last[0]?.time ?? '');
    await tamperSession.run('begin');
    await tamperSession.run("update audit_events set ip_address = ip_address || 'x' where occurred_at = $1", [
      last[0]?.time,
    ]);
    await tamperSession.run('commit');
    assert.equal((await verify(`?fromDate=${new Date(from).toISOString()}`)).verified, false);
    assert.equal((await verify()).verified, false);
    await tamperSession.run(
      "update audit_events set ip_address = rtrim(ip_address, 'x') where ip_address like '%x'",
    );
    assert.equal((await verify()).verified, true);
    await tamperSession.close();
  });

  it("200: another organization's broken log does not affect ours", async () => {
    const other = t.app.ids.uuid();
    await recordEvents(t, other, 3);
    await t.app.audit.linkAll();
    await execute(
      t.databaseUrl,
      `set session_replication_role = replica; delete from audit_events where organization_id = '${other}'`,
    );
    assert.ok((await t.app.audit.verify(other)).finding);
    assert.equal((await verify()).verified, true);
    assert.equal((await get(`/verify?organizationId=${home}`)).json.verified, true);
  });

  it('200: every organization when the operator names none; false when one is broken', async () => {
    const mine = await startApp({ MULTI_TENANT: 'true' });
    const other = mine.app.ids.uuid();
    await recordEvents(mine, other, 3);
    // Recorded under the nil UUID: the client is unknown.
    await mine.askToken({ grant_type: 'client_credentials', client_id: other, client_secret: 'wrong' });
    const bearer = await mine.token();
    const result = async (query = '') =>
      (await mine.call('GET', `/api/v1/audit/verify${query}`, { token: bearer })).json;
    const [{ events } = { events: 0 }] = await mine.sql<{ events: number }>(
      'select count(*)::int as events from audit_events',
    );
    const since = `?fromDate=${new Date(mine.clock.now() - 3_600_000).toISOString()}`;
    for (const query of ['', since]) {
      const { verified, checkedCount } = await result(query);
      assert.deepEqual([verified, checkedCount], [true, events], query);
    }
    assert.equal((await result(`?organizationId=${other}`)).checkedCount, 3);
    await execute(
      mine.databaseUrl,
      `set session_replication_role = replica;
       delete from audit_events where event_id in
         (select event_id from ${auditLinks} l where organization_id = '${other}' and sequence = 2)`,
    );
    for (const query of ['', since, `?organizationId=${other}`])
      assert.equal((await result(query)).verified, false, query);
    assert.equal((await result(`?organizationId=${mine.operator.organizationId}`)).verified, true);
  });
});

describe('GET /audit/checkpoints', () => {
  it('200: several chains share a tree head, and each checkpoint proves that it is in the tree', async () => {
    const chains = Array.from({ length: 5 }, () => t.app.ids.uuid());
    for (const organizationId of chains) await recordEvents(t, organizationId, 2);
    await t.app.audit.linkAll();
    const entries = await Promise.all(
      chains.map(async (id) => (await get(`/checkpoints?organizationId=${id}`)).json.data[0]),
    );
    assert.equal(new Set(entries.map(({ signed }) => signed)).size, 1);
    const { root, size } = JSON.parse(Buffer.from(entries[0].signed.split('.')[1], 'base64url').toString());
    assert.ok(size >= 5);
    for (const { inclusion } of entries)
      assert.equal(rootFrom(leafHash(inclusion.checkpoint), inclusion), root);
    const places = entries.map(({ inclusion }) => inclusion.leafIndex);
    assert.equal(new Set(places).size, 5);
  });

  it('200: newest first, with the text that the key of the instance signed', async () => {
    const { data, total } = (await get('/checkpoints?limit=2')).json;
    assert.equal(data.length, 2);
    assert.equal(data[0].number, total);
    assert.equal(data[1].number, total - 1);
    assert.ok(data[0].size > data[1].size);
    const claims = JSON.parse(Buffer.from(data[0].signed.split('.')[1], 'base64url').toString());
    const { inclusion } = data[0];
    assert.deepEqual(
      [claims.number, claims.size, claims.at],
      [inclusion.treeHead, inclusion.treeSize, data[0].time],
    );
    const { previous, ...checkpoint } = JSON.parse(inclusion.checkpoint);
    assert.deepEqual(checkpoint, {
      at: data[0].time,
      head: data[0].headHash,
      number: total,
      organizationId: home,
      size: data[0].size,
    });
    assert.equal(previous, leafHash(data[1].inclusion.checkpoint));
    assert.equal(data[0].keyId, (await t.call('GET', '/.well-known/jwks.json')).json.keys[0].kid);
  });
});

describe('the lines of the guide that verify a checkpoint', async () => {
  const guide = readFileSync(new URL('../../../../docs/guides/audit-log.md', import.meta.url), 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(guide)?.[1] ?? '';
  const { verifyCheckpoint } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const jwks = (await t.call('GET', '/.well-known/jwks.json')).json;
  const shared = Array.from({ length: 7 }, () => t.app.ids.uuid());
  for (const events of [1, 2]) {
    for (const organizationId of shared) await recordEvents(t, organizationId, events);
    await t.app.audit.linkAll();
  }
  const entriesOf = async (organizationId: string) =>
    (await get(`/checkpoints?organizationId=${organizationId}`)).json.data;

  it('accept every checkpoint, and the hashes connect them', async () => {
    for (const organizationId of shared) {
      const [second, first] = (await entriesOf(organizationId)).map((entry: unknown) =>
        verifyCheckpoint(entry, jwks),
      );
      assert.deepEqual([first.organizationId, first.size, second.size], [organizationId, 1, 3]);
      assert.equal(first.previous, null);
      assert.equal(second.previous, first.hash);
    }
  });

  it('refuse an edited checkpoint, another proof, place or signature', async () => {
    // A pass of the loop may have linked some of the chains alone: such a tree has one leaf, and an empty proof.
    const all = await Promise.all(shared.map(entriesOf));
    const [entry, other] = all.find(([newest]) => newest.inclusion.proof.length > 0);
    const { inclusion } = entry;
    const edit = (change: object) => ({ ...entry, inclusion: { ...inclusion, ...change } });
    for (const edited of [
      edit({ checkpoint: inclusion.checkpoint.replace('"size":3', '"size":4') }),
      edit({ proof: inclusion.proof.slice(1) }),
      edit({ proof: [...inclusion.proof, inclusion.proof[0]] }),
      edit({ treeSize: inclusion.treeSize + 1 }),
      { ...entry, inclusion: other.inclusion },
      { ...entry, signed: other.signed },
      { ...entry, signed: `${entry.signed.slice(0, -8)}AAAAAAAA` },
    ])
      assert.throws(() => verifyCheckpoint(edited, jwks), /not signed by this instance/);
  });
});

describe('the database', () => {
  const tables = [
    'audit_events',
    'audit_segments',
    'audit_tree_heads',
    'audit_keys',
    'audit_anchors',
    'audit_inconsistent_links',
  ];
  it('refuses update, delete and truncate of evidence, even by the owner of the tables', async () => {
    await t.sql(`insert into audit_anchors values ('${t.app.ids.uuid()}', 1, now(), 'x')`);
    await t.sql(
      `insert into audit_inconsistent_links select organization_id, 1, event_id, occurred_at, '', '', current_date
       from audit_events limit 1`,
    );
    const today = new Date(t.clock.now()).toISOString().slice(0, 10).replaceAll('-', '');
    const partitions = tables.slice(0, 3).map((table) => `${table}_${today}`);
    for (const table of [...tables, ...partitions]) {
      const [column] = await t.sql<{ name: string }>(
        `select column_name as name from information_schema.columns where table_name = '${table}' limit 1`,
      );
      for (const statement of [
        `update ${table} set ${column?.name} = ${column?.name}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ])
        await assert.rejects(t.sql(statement), /append-only/, statement);
    }
  });
});

describe('an event that the service did not write', () => {
  const forged = '00000000-0000-7000-8000-000000000001';
  for (const [what, seal] of Object.entries({
    'without a seal': 'null',
    "with another event's seal": 'seal',
    'with an invented seal': "substr(seal, 1, 4) || decode('00112233445566778899aabbccddeeff', 'hex')",
  }))
    it(`200, verified false: well-formed, ${what}; it is never linked`, async () => {
      const organizationId = t.app.ids.uuid();
      await recordEvents(t, organizationId, 3);
      assert.equal((await t.app.audit.verify(organizationId)).finding, undefined);
      const { promise: found, resolve: end } = Promise.withResolvers<void>();
      const older = await openTransaction(found);
      // The tables allow inserts.
      await t.sql(
        `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
                                   occurred_at, canonical, seal)
         select '${forged}', organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at,
                replace(${canonical}, event_id::text, '${forged}'), ${seal}
         from audit_events where organization_id = $1 order by event_id limit 1`,
        [organizationId],
      );
      const { checked, finding } = await t.app.audit.verify(organizationId);
      assert.deepEqual([checked, finding?.eventId], [3, forged]);
      end();
      await older.ended;
    });

  it('200, verified false: a sealed row that is moved to another organization with its text; it is never linked', async () => {
    const [source, target] = [t.app.ids.uuid(), t.app.ids.uuid()];
    for (const organizationId of [source, target]) await recordEvents(t, organizationId, 3);
    assert.equal((await t.app.audit.verify(target)).finding, undefined);
    const [moved] = await t.sql<Record<string, unknown>>(
      `select *, ${canonical} as canonical from audit_events where organization_id = $1 limit 1`,
      [source],
    );
    const { run } = createAttacker(t);
    await run('delete from audit_events where event_id = $1', [moved?.event_id]);
    await t.sql(
      `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
                                 occurred_at, canonical, seal)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        moved?.event_id,
        target,
        ...['agent_id', 'action', 'outcome', 'ip_address', 'user_agent'].map((column) => moved?.[column]),
        JSON.stringify(moved?.metadata),
        ...['occurred_at', 'canonical', 'seal'].map((column) => moved?.[column]),
      ],
    );
    const { checked, finding } = await t.app.audit.verify(target);
    assert.deepEqual([checked, finding?.eventId], [3, moved?.event_id]);
    const linked = await t.sql(`select from ${auditLinks} link where organization_id = $1`, [target]);
    assert.equal(linked.length, 3);
  });

  it('200, verified false: a copy of a sealed row with the year before Christ; it is never linked', async () => {
    // The year before Christ may have no such day.
    if (new Date(t.clock.now()).toISOString().includes('-02-29')) t.clock.advance(86_400_000);
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 3);
    assert.equal((await t.app.audit.verify(organizationId)).finding, undefined);
    const segments = async () =>
      (await t.sql('select from audit_segments where organization_id = $1', [organizationId])).length;
    assert.equal(await segments(), 1);
    await t.sql(
      'create table audit_events_before_christ (like audit_events including defaults including constraints)',
    );
    await t.sql(`alter table audit_events attach partition audit_events_before_christ
                 for values from ('4000-01-01 BC') to ('0001-01-01 BC')`);
    const copied = await t.sql(
      `insert into audit_events (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
                                 occurred_at, seal)
       select event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata,
              (to_char(occurred_at, 'YYYY-MM-DD HH24:MI:SS.MS') || ' BC')::timestamptz, seal
       from audit_events where organization_id = $1 limit 1
       returning ${canonical} as canonical`,
      [organizationId],
    );
    const same = await t.sql(`select from audit_events where organization_id = $1 and ${canonical} = $2`, [
      organizationId,
      copied[0]?.canonical,
    ]);
    assert.equal(same.length, 2);
    assert.ok((await t.app.audit.verify(organizationId)).finding);
    assert.equal(await segments(), 1);
  });
});

describe('sequencers', () => {
  it('two at once make one chain: no fork, no duplicate, no gap', async () => {
    const organizationId = t.app.ids.uuid();
    const other = await startNode();
    const nodes = [t.app, other];
    const writing = Array.from({ length: 8 }, async () => {
      for (let count = 0; count < 10; count += 1) await recordEvents(t, organizationId, 7);
    });
    let over = false;
    const linking = nodes.map(async ({ audit }) => {
      while (!over) await audit.linkAll();
    });
    await Promise.all(writing);
    over = true;
    await Promise.all(linking);
    await other.audit.linkAll();
    for (const { audit } of nodes) {
      const { checked, finding } = await audit.verify(organizationId);
      assert.deepEqual({ checked, finding }, { checked: 560, finding: undefined });
    }
    const [links] = await t.sql(
      `select count(*)::int as count, count(distinct sequence)::int as different, max(sequence)::int as last
       from ${auditLinks} l where organization_id = $1`,
      [organizationId],
    );
    assert.deepEqual(links, { count: 560, different: 560, last: 560 });
    await other.close();
  });

  it('a transaction with more events than one batch is linked to its end', async () => {
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 4_001);
    const { checked, finding } = await t.app.audit.verify(organizationId);
    assert.deepEqual([checked, finding], [4_001, undefined]);
  });
  it('a transaction that stays open delays no other, and is linked when it commits', async () => {
    const organizationId = t.app.ids.uuid();
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const started = Promise.withResolvers<void>();
    const slow = t.app.db.transaction(async (tx) => {
      const writes: Promise<number>[] = [];
      const atOnce: Tx = { ...tx, atCommit: (name, query) => void writes.push(tx.run(name, query)) };
      await t.app.audit.listener.inTransaction?.(atOnce, [
        {
          eventId: t.app.ids.uuidV7(t.clock.now()),
          type: 'agent.created',
          outcome: 'success',
          organizationId,
          agentId: t.app.ids.uuid(),
          ipAddress: '192.0.2.1',
          userAgent: '',
          timestamp: new Date(t.clock.now()).toISOString(),
          data: {},
          metadata: {},
          actor: { requestId: '', ipAddress: '192.0.2.1', userAgent: '' },
        },
      ]);
      await Promise.all(writes);
      started.resolve();
      await finished;
    });
    await started.promise;
    await recordEvents(t, organizationId, 5);
    assert.equal((await t.app.audit.verify(organizationId)).checked, 5);
    await recordEvents(t, organizationId, 5);
    assert.equal((await t.app.audit.verify(organizationId)).checked, 10);
    finish();
    await slow;
    assert.equal((await t.app.audit.verify(organizationId)).checked, 11);
  });
});

describe('a change of the signing key', () => {
  it('is no finding: the new key takes over, and seals and signatures of the old one stay valid', async () => {
    const organizationId = t.app.ids.uuid();
    const idle = t.app.ids.uuid();
    await recordEvents(t, idle, 4);
    await recordEvents(t, organizationId, 4);
    await t.app.audit.linkAll();
    // Recorded, but not linked when the process ended.
    await recordEvents(t, organizationId, 3);
    const { privatePem, publicPem } = generateKeyPair();
    const keys = { JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem };
    const next = await startNode(keys);
    for (const [id, events] of [
      [idle, 4],
      [organizationId, 7],
    ] as const) {
      const { checked, finding } = await next.audit.verify(id);
      assert.deepEqual({ checked, finding }, { checked: events, finding: undefined });
    }
    const [newest] = await t.sql<{ key: string }>(
      `select h.key_id as key from audit_segments s join audit_tree_heads h on h.number = s.tree
       where organization_id = $1 order by s.number desc`,
      [organizationId],
    );
    const [introduced] = await t.sql<{ number: number; key: string }>(
      'select number, key_id as key from audit_keys order by number desc',
    );
    assert.deepEqual(introduced, { number: 2, key: newest?.key });

    // The node with the old key neither links nor signs any more.
    await recordEvents(t, organizationId, 1);
    await t.app.audit.linkAll();
    assert.ok((await t.app.audit.verify(organizationId)).finding);
    assert.deepEqual((await next.audit.verify(organizationId)).checked, 8);

    // An hour later, events with a seal of the old key are not linked any more.
    t.clock.advance(3_700_000);
    await recordEvents(t, organizationId, 1);
    assert.match(
      (await next.audit.verify(organizationId)).finding?.problem ?? '',
      /not recorded by this service/,
    );
    await next.close();
  });
});
