/** Evidence of a version that signed each checkpoint: moved by the migration, exported, and kept outside. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, describe, it } from 'node:test';
import { verifyExport } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import {
  createDatabase,
  createEmptyDatabase,
  createTestClock,
  environment,
  execute,
} from '../../../../test/support/harness.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { createPostgres } from '../../../adapters/postgres/postgres.ts';
import { createApp } from '../../../app.ts';
import { systemClock } from '../../../kernel/clock.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { migrate, readMigrations } from '../../../kernel/data/migrations.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createMetrics } from '../../../kernel/observability/metrics.ts';

const folder = new URL('../../../../test/fixtures/audit-checkpoints/', import.meta.url);
const textOf = (file: string) => readFileSync(new URL(file, folder), 'utf8');
const publicPem = textOf('public-key.pem');
const [first, second, third] = ['1', '2', '3'].map(
  (digit) =>
    `${digit.repeat(8)}-${digit.repeat(4)}-4${digit.repeat(3)}-8${digit.repeat(3)}-${digit.repeat(12)}`,
) as [string, string, string];
const checkpoints: { number: number; signed: string }[] = JSON.parse(textOf('checkpoints.json'));
const rows = textOf('rows.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { table: string; row: Record<string, string> });

const log = createLog({ level: 'silent' });

const migrations = readMigrations();
const migrateTo = async (url: string, count: number) => {
  const db = createPostgres({ url, poolSize: 1, log, metrics: createMetrics(), noStatementTimeout: true });
  await migrate({ db, log, clock: systemClock, migrations: migrations.slice(0, count) });
  await db.close();
};

/** A database of the earlier version with the fixture. */
async function createEarlier(): Promise<string> {
  const url = await createEmptyDatabase();
  await migrateTo(url, 29);
  const days = new Set(
    rows.flatMap(({ row }) => [row.linked_on, row.taken_on, row.occurred_at?.slice(0, 10)]).filter(Boolean),
  );
  await execute(url, 'select audit_ensure_partition(day) from unnest($1::date[]) as day', [[...days]]);
  for (const { table, row } of rows)
    await execute(
      url,
      `insert into ${table} select * from jsonb_populate_record(null::${table}, $1::jsonb)`,
      [JSON.stringify(row)],
    );
  // The members of jsonb have another order than those of the canonical text.
  await execute(
    url,
    `set session_replication_role = replica; update audit_events set metadata = canonical::json -> 'metadata'`,
  );
  return url;
}

const earlier = await createEarlier();

/** A copy of it, tampered with and migrated. */
async function moved(tampering = 'select 1') {
  const url = await createEmptyDatabase();
  const nameOf = (database: string) => new URL(database).pathname.slice(1);
  const maintenance = new URL('/postgres', url).href;
  await execute(maintenance, `drop database ${nameOf(url)}`);
  await execute(maintenance, `create database ${nameOf(url)} template ${nameOf(earlier)} strategy file_copy`);
  await execute(url, `set session_replication_role = replica; ${tampering}`);
  // As after a restore: the sequencer looks for the link of each event.
  await execute(url, `update audit_progress set settled_before = '0'`);
  await migrateTo(url, migrations.length);
  const config = loadConfig(environment(url, { JWT_PREVIOUS_PUBLIC_KEYS: publicPem }));
  const app = await createApp({ config, log });
  await app.prepare();
  return { url, app };
}

const t = await moved();
after(() => t.app.close());

describe('the migration', () => {
  it('moves all links: the chains verify as before', async () => {
    for (const [id, events] of [
      [first, 8],
      [second, 14],
      [third, 0],
    ] as const) {
      const { checked, finding } = await t.app.audit.verify(id);
      assert.deepEqual({ checked, finding }, { checked: events, finding: undefined }, id);
    }
    assert.deepEqual(await execute(t.url, 'select * from audit_inconsistent_links'), []);
    assert.equal(await t.app.audit.verifyTreeHeads(), undefined);
  });

  it('keeps the signed checkpoints, which still prove that the log has them', async () => {
    const signed = await execute<{ signed: string }>(
      t.url,
      'select signed from audit_segments where organization_id = $1 order by number desc',
      [second],
    );
    assert.deepEqual(
      signed.map((row) => row.signed),
      checkpoints.map((row) => row.signed),
    );
    for (const checkpoint of checkpoints)
      assert.equal(await t.app.audit.checkExternalCheckpoint(checkpoint), undefined);
  });

  it('the export has both forms of checkpoints, and verifies', async () => {
    await recordEvents({ app: t.app, clock: createTestClock() }, second, 3);
    const lines: string[] = [];
    await t.app.audit.export({ write: async ({ texts }) => void lines.push(...texts) });
    const key = createPublicKey(environment(t.url).JWT_PUBLIC_KEY);
    const roots = [await describePublicKey(key)];
    const { finding, events } = await verifyExport(
      (async function* () {
        yield* lines;
      })(),
      { roots, read: createStatementReader(), externalCheckpoint: checkpoints[0] },
    );
    assert.equal(finding, undefined);
    const forms = lines.filter((line) => line.includes(second) && line.includes('"kind":"checkpoint"'));
    assert.deepEqual(
      forms.map((line) => line.includes('"inclusion":')),
      [false, false, false, false, true],
    );
    assert.ok(events >= 25);
  });
});

describe('tampering before the migration is still found after it', () => {
  const link = `organization_id = '${second}' and sequence = 5`;
  for (const [what, tampering] of Object.entries({
    'an edited event': `update audit_events set ip_address = 'x' where organization_id = '${second}'`,
    'a deleted event': `delete from audit_events where event_id in (select event_id from audit_links where ${link})`,
    'a deleted link': `delete from audit_links where ${link}`,
    'the first link deleted': `delete from audit_links where organization_id = '${second}' and sequence = 1`,
    'the last link deleted': `delete from audit_links where organization_id = '${second}' and sequence = 14`,
    'a hash of a link edited': `update audit_links set hash = sha256(hash) where ${link}`,
    'a hash of an event edited': `update audit_links set event_hash = sha256(hash) where ${link}`,
    'a time of a link edited': `update audit_links set occurred_at = 'infinity' where ${link}`,
    'a link moved to another day': `update audit_links set linked_on = linked_on + 1 where ${link}`,
    'a link twice': `insert into audit_links select organization_id, sequence, event_id, occurred_at, event_hash, hash, linked_on + 1
                     from audit_links where ${link}`,
    'a link after the last checkpoint': `insert into audit_links select organization_id, 15, gen_random_uuid(), occurred_at, event_hash, hash, linked_on
                     from audit_links where ${link}`,
    'a link with the sequence 0': `insert into audit_links select organization_id, 0, gen_random_uuid(), occurred_at, event_hash, hash, linked_on
                     from audit_links where ${link}`,
    'a deleted checkpoint': `delete from audit_checkpoints where organization_id = '${second}' and number = 2`,
    'the last checkpoint deleted': `delete from audit_checkpoints where organization_id = '${second}' and number = 4`,
    'all checkpoints deleted': `delete from audit_checkpoints where organization_id = '${second}'`,
    'an edited checkpoint': `update audit_checkpoints set head = sha256(head) where organization_id = '${second}' and number = 2`,
    'a checkpoint twice': `insert into audit_checkpoints select organization_id, number, size, head, previous, taken_at, taken_on + 1, key_id, signed
                           from audit_checkpoints where organization_id = '${second}' and number = 2`,
    'a broken signature': `update audit_checkpoints set signed = left(signed, -4) || 'AAAA' where organization_id = '${second}'`,
  }))
    it(`verified false: ${what}`, async () => {
      const { app } = await moved(tampering);
      const others = await app.audit.verify(first);
      const { finding } = await app.audit.verify(second);
      await app.close();
      assert.equal(others.finding, undefined);
      assert.ok(finding);
    });
});

describe('an export of the earlier version', () => {
  const verified = async (externalCheckpoint?: { signed: string }) =>
    verifyExport(createInterface({ input: createReadStream(new URL('export.jsonl', folder)) }), {
      roots: [await describePublicKey(createPublicKey(publicPem))],
      read: createStatementReader(),
      externalCheckpoint,
    });

  it('verifies, with its checkpoints', async () => {
    for (const checkpoint of [undefined, ...checkpoints]) {
      const { finding, statement } = await verified(checkpoint);
      assert.equal(finding, undefined);
      assert.ok(statement);
    }
  });

  it('has a finding for a checkpoint that is not in it', async () => {
    assert.equal((await verified({ signed: 'x' })).finding?.code, 'EXTERNAL_CHECKPOINT_MISSING');
  });
});

describe('a node of the earlier version', () => {
  it('cannot link: its tables are gone', async () => {
    const url = await createDatabase();
    for (const table of ['audit_links', 'audit_checkpoints'])
      await assert.rejects(execute(url, `select from ${table}`), /does not exist/);
  });
});
