import { fail } from '../../kernel/fail.ts';
import type { HealthDeps } from './feature.ts';

/** Without the database nothing works; without Redis everything does, with limits counted per process. */
export async function checkHealth({ db, kv }: HealthDeps) {
  const [database, redis] = await Promise.allSettled([db.ping(), kv.ping()]);
  const redisState = redis.status === 'fulfilled' ? ('ok' as const) : ('away' as const);
  if (database.status === 'rejected') {
    fail('SERVICE_UNAVAILABLE', {
      message: 'The database is away.',
      details: { checks: { database: 'away', redis: redisState } },
      headers: { 'retry-after': '1' },
      cause: database.reason,
    });
  }
  return { status: 'ok' as const, checks: { database: 'ok' as const, redis: redisState } };
}
