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

/** The last migration from before the rule. */
const ruleFrom = 35;
/** Statements that break the code of the previous version, which runs beside this one during an upgrade (docs/operations/upgrade.md). */
const contracting =
  /\bdrop\s+(table|column|view|function)\b|\brename\s+(to|column)\b|\balter\s+column\s+\w+\s+(set\s+data\s+)?type\b|\bset\s+not\s+null\b|\badd\s+column\s+(?:if\s+not\s+exists\s+)?\w+[^,;]*\bnot\s+null\b(?![^,;]*\b(default|generated)\b)/i;
/** Of something that the previous version does not use any more. */
const isDeclared = (text: string) => /^-- Contracts: \S/m.test(text);
const breaksPrevious = (text: string) =>
  contracting.test(text.replaceAll(/--.*$/gm, '')) && !isDeclared(text);

describe('migrations and the previous version', () => {
  it('expand only, unless they say what they remove', () => {
    const breaking = readMigrations().filter(
      ({ version, text }) => version >= ruleFrom && breaksPrevious(text),
    );
    assert.deepEqual(
      breaking.map(({ name }) => name),
      [],
    );
  });
  it('the rule finds removals, renamed columns, other types and new conditions', () => {
    for (const text of [
      'drop table agents',
      'alter table agents drop column owner',
      'alter table agents rename column owner to holder',
      'alter table agents rename to workers',
      'alter table agents alter column owner type integer',
      'alter table agents alter column owner set not null',
      'alter table agents add column tier text not null',
    ])
      assert.ok(breaksPrevious(text), text);
    for (const text of [
      'alter table agents add column tier text',
      "alter table agents add column tier text not null default 'free', add column note text",
      'create table things (id uuid primary key, name text not null)',
      '-- we never drop table agents\ncreate index agents_by_owner on agents (owner)',
      '-- Contracts: agents.owner, unused since 0040.\nalter table agents drop column owner',
    ])
      assert.ok(!breaksPrevious(text), text);
  });
});
