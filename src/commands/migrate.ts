/** `countersign migrate`: needs DATABASE_URL or DATABASE_DIRECT_URL, and no other variable. */
import { createPostgres } from '../adapters/postgres/postgres.ts';
import { requireSameDatabase } from '../adapters/postgres/start-checks.ts';
import { systemClock } from '../kernel/clock.ts';
import { type Environment, loadDirectDatabase, loadPooledDatabase } from '../kernel/config/config.ts';
import { migrate as applyMigrations } from '../kernel/data/migrations.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createMetrics } from '../kernel/observability/metrics.ts';
import { print } from './terminal.ts';

export async function migrate(env: Environment): Promise<void> {
  const log = createLog({ level: 'warn' });
  const shared = { poolSize: 1, log, metrics: createMetrics(), noStatementTimeout: true };
  const db = createPostgres({ ...loadDirectDatabase(env), ...shared });
  const pooled = loadPooledDatabase(env);
  const serving = pooled && createPostgres({ ...pooled, ...shared });
  try {
    if (serving) await requireSameDatabase(serving, db);
    const applied = await applyMigrations({ db, log, clock: systemClock });
    print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  } finally {
    await Promise.all([db.close(), serving?.close()]);
  }
}
