/** `countersign migrate`: needs DATABASE_URL or DATABASE_DIRECT_URL, and no other variable. */
import { createPostgres } from '../adapters/postgres/postgres.ts';
import { requireSameDatabase } from '../adapters/postgres/start-checks.ts';
import { systemClock } from '../kernel/clock.ts';
import { loadDirectDatabase, loadPooledDatabase } from '../kernel/config/config.ts';
import { migrate as applyMigrations } from '../kernel/data/migrations.ts';
import { createLog } from '../kernel/observability/log.ts';
import { createMetrics } from '../kernel/observability/metrics.ts';
import type { Io } from './io.ts';
import { print } from './terminal.ts';

export async function migrate(io: Io): Promise<void> {
  const log = createLog({ level: 'warn', destination: io.stdout });
  const shared = { poolSize: 1, log, metrics: createMetrics(), noStatementTimeout: true };
  const db = createPostgres({ ...loadDirectDatabase(io.env), ...shared });
  const pooled = loadPooledDatabase(io.env);
  const serving = pooled && createPostgres({ ...pooled, ...shared });
  try {
    if (serving) await requireSameDatabase(serving, db);
    const applied = await applyMigrations({ db, log, clock: systemClock });
    print(io, applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`);
  } finally {
    await Promise.all([db.close(), serving?.close()]);
  }
}
