/**
 * Numbered SQL files, forward only, one transaction each. Every node may run this at start: the transaction takes a lock before it
 * checks for missing migrations, so each is applied exactly once.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Log } from '../observability/log.ts';
import { packageRoot } from '../package-root.ts';
import type { Db, Tx } from './db.ts';
import { lockGlobal } from './locks.ts';
import { raw, sql } from './sql.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

const folder = new URL('migrations/', packageRoot);

export function readMigrations(from: URL = folder): Migration[] {
  const migrations = readdirSync(from)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(file, from), 'utf8');
      return {
        version: Number(file.slice(0, 4)),
        name: file.slice(0, -4),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      };
    });
  migrations.forEach(({ version, name }, index) => {
    if (version !== index + 1)
      throw new Error(`migration ${name} is out of sequence: expected number ${index + 1}`);
  });
  return migrations;
}

/** The database's migration history does not match ours: the server does not start. */
export class MigrationProblem extends Error {}

/** Returns the names of the migrations that this call applied. */
export async function migrate(deps: {
  db: Db;
  log: Log;
  clock: Clock;
  migrations?: Migration[];
}): Promise<string[]> {
  const { db, log, clock, migrations = readMigrations() } = deps;
  const applied: string[] = [];
  // One query for all: a transaction for each would take 120 round trips and 3 % of the CPU time of a start.
  const history = await db.transaction(readHistory);
  const checksums = new Map(history.map(({ version, checksum }) => [version, checksum]));
  for (const migration of migrations.filter((each) => !isApplied(each, checksums.get(each.version)))) {
    const isNew = await db.transaction(async (tx) => {
      await lockGlobal(tx, 'migrations');
      if (isApplied(migration, await findChecksum(tx, migration.version))) return false;
      await tx.run('migrations.apply', raw(migration.text));
      await tx.run(
        'migrations.insert',
        sql`insert into schema_migrations (version, name, checksum, applied_at)
            values (${migration.version}, ${migration.name}, ${migration.checksum}, ${new Date(clock.now())})`,
      );
      return true;
    });
    if (isNew) {
      applied.push(migration.name);
      log.info({ migration: migration.name }, 'migration applied');
    }
  }
  warnOfUnknown(log, history, migrations);
  return applied;
}

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/** After a rollback or during a rolling update, an older version runs on a newer schema, which is supported. */
function warnOfUnknown(
  log: Log,
  history: readonly AppliedMigration[],
  migrations: readonly Migration[],
): void {
  const known = new Set(migrations.map(({ version }) => version));
  const unknown = history.filter(({ version }) => !known.has(version));
  if (unknown.length === 0) return;
  log.warn(
    { migrations: unknown.map(({ name }) => name) },
    'the database has migrations of a newer version; continuing without them',
  );
}

const historyColumns: Readonly<Record<string, string>> = {
  version: 'integer',
  name: 'text',
  checksum: 'text',
  applied_at: 'timestamp with time zone',
};

/** Creates the table when it is missing. */
async function readHistory(tx: Tx): Promise<AppliedMigration[]> {
  await lockGlobal(tx, 'migrations');
  const { exists } = await tx.one<{ exists: boolean }>(
    'migrations.exists',
    sql`select to_regclass('schema_migrations') is not null as exists`,
  );
  // Not `create … if not exists`: it needs the right to create even if the table exists, which a serving role may lack.
  if (!exists)
    await tx.run(
      'migrations.prepare',
      sql`create table schema_migrations (
            version integer primary key,
            name text not null,
            checksum text not null,
            applied_at timestamptz not null
          )`,
    );
  // Other tools use this table name too.
  const columns = await tx.many<{ name: string; type: string }>(
    'migrations.columns',
    sql`select attname as name, format_type(atttypid, null) as type from pg_attribute
        where attrelid = to_regclass('schema_migrations') and attnum > 0 and not attisdropped`,
  );
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  if (Object.entries(historyColumns).some(([name, type]) => types.get(name) !== type))
    throw new MigrationProblem(
      'the database has a table schema_migrations that is not ours; give us a database, or a schema, of our own',
    );
  return tx.many(
    'migrations.history',
    sql`select version, name, checksum from schema_migrations order by version`,
  );
}

function isApplied({ name, checksum }: Migration, appliedChecksum: string | undefined): boolean {
  if (appliedChecksum !== undefined && appliedChecksum !== checksum)
    throw new MigrationProblem(
      `migration ${name} was changed after it had been applied to this database; add a new migration instead`,
    );
  return appliedChecksum !== undefined;
}

async function findChecksum(tx: Tx, version: number): Promise<string | undefined> {
  const row = await tx.maybe<{ checksum: string }>(
    'migrations.find',
    sql`select checksum from schema_migrations where version = ${version}`,
  );
  return row?.checksum;
}
