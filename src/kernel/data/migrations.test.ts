import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { createEmptyDatabase, execute } from '../../../test/support/harness.ts';
import { createPostgres } from '../../adapters/postgres/postgres.ts';
import { systemClock } from '../clock.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { type Migration, MigrationProblem, migrate, readMigrations } from './migrations.ts';

const migration = (version: number, text: string): Migration => ({
  version,
  name: `000${version}_test`,
  text,
  checksum: createHash('sha256').update(text).digest('hex'),
});

async function openDatabase() {
  const url = await createEmptyDatabase();
  const warnings: object[] = [];
  const log = createLog({
    level: 'warn',
    destination: {
      write: (line) => {
        const { msg, migrations } = JSON.parse(line);
        warnings.push({ msg, migrations });
      },
    },
  });
  const db = createPostgres({ url, poolSize: 4, log, metrics: createMetrics() });
  after(() => db.close());
  const run = (migrations?: Migration[]) =>
    migrate({ db, log, clock: systemClock, ...(migrations && { migrations }) });
  return { url, run, warnings };
}

describe('migrations', () => {
  it('are applied in order and once, when several nodes start at the same time', async () => {
    const { url, run } = await openDatabase();
    const results = await Promise.all([run(), run(), run(), run()]);
    const names = readMigrations().map(({ name }) => name);
    assert.deepEqual(results.flat().sort(), names);
    const rows = await execute<{ name: string }>(url, 'select name from schema_migrations order by version');
    assert.deepEqual(
      rows.map(({ name }) => name),
      names,
    );
    assert.deepEqual(await run(), []);
  });
  it('a failed one is rolled back; the next run continues from there', async () => {
    const { url, run } = await openDatabase();
    const first = migration(1, 'create table one (id int)');
    await assert.rejects(run([first, migration(2, 'create table two (id int); select no_such_function()')]));
    const tables = await execute(url, "select 1 from pg_tables where tablename in ('one', 'two')");
    assert.equal(tables.length, 1);
    assert.deepEqual(await run([first, migration(2, 'create table two (id int)')]), ['0002_test']);
  });
  it('fail when one was changed after it had been applied', async () => {
    const { run } = await openDatabase();
    await run([migration(1, 'select 1')]);
    await assert.rejects(run([migration(1, 'select 2')]), /0001_test was changed after it had been applied/);
  });
  it('warn and continue when the database has newer ones', async () => {
    const { run, warnings } = await openDatabase();
    const known = [1, 2].map((version) => migration(version, 'select 1'));
    await run([...known, migration(3, 'select 1'), migration(4, 'select 1')]);
    assert.deepEqual(await run(known), []);
    const msg = 'the database has migrations of a newer version; continuing without them';
    assert.deepEqual(warnings, [{ msg, migrations: ['0003_test', '0004_test'] }]);
  });
  it('fail on a schema_migrations table of another tool', async () => {
    const { url, run } = await openDatabase();
    await execute(url, 'create table schema_migrations (version varchar primary key)');
    await assert.rejects(run(), MigrationProblem);
    assert.deepEqual(await execute(url, "select 1 from pg_tables where tablename = 'agents'"), []);
  });
});
