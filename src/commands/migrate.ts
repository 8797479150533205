/** `countersign migrate`: needs DATABASE_URL and no other variable. */
import { createPostgres } from '../adapters/postgres/postgres.ts';
import { systemClock } from '../kernel/clock.ts';
import { type Environment, loadVariable } from '../kernel/config/config.ts';
import { migrate as applyMigrations } from '../kernel/data/migrations.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createMetrics } from '../kernel/observability/metrics.ts';
import { print } from './terminal.ts';

export async function migrate(env: Environment): Promise<void> {
  const log = createLog({ level: 'warn' });
  const db = createPostgres({
    url: loadVariable('databaseUrl', env),
    poolSize: 1,
    log,
    metrics: createMetrics(),
    noStatementTimeout: true,
  });
  try {
    const applied = await applyMigrations({ db, log, clock: systemClock });
    print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  } finally {
    await db.close();
  }
}
