import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { fail } from '../../kernel/fail.ts';
import type { HealthDeps } from './deps.ts';

/** Without the database nothing works; without Redis everything does, with limits counted per process. */
export async function checkHealth({ db, kv, auditLinking }: HealthDeps) {
  const [database, redis] = await Promise.allSettled([db.ping(), kv.ping()]);
  const redisState = redis.status === 'fulfilled' ? ('ok' as const) : ('away' as const);
  if (database.status === 'rejected') {
    fail('SERVICE_UNAVAILABLE', {
      message: 'The database is unavailable.',
      details: { checks: { database: 'away', redis: redisState } },
      headers: { 'retry-after': '1' },
      cause: database.reason,
    });
  }
  const checks = { database: 'ok' as const, redis: redisState };
  return { status: 'ok' as const, checks, audit: auditLinking() };
}

/** A megabyte when much is going on: whoever asks while it is being written gets the next one, together and as the same bytes. */
export function createExposition({ metricsText }: HealthDeps): () => Promise<Buffer> {
  const writeFor = createBatcher({
    run: async (askers: readonly null[]) => {
      const bytes = Buffer.from(await metricsText());
      return askers.map(() => bytes);
    },
    maxBatch: 1_000,
    concurrency: 1,
    maxQueue: 1_000,
  });
  return () => writeFor(null);
}
