import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { fail } from '../../kernel/fail.ts';
import type { HealthDeps } from './deps.ts';

/** The service needs the database. Without Redis it works, and counts limits per process. */
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

export const alive = { status: 'ok' as const };

/** Redis is not needed to serve: its failure must not take every node out of the load balancer. */
export async function checkReadiness({ db }: HealthDeps, isDraining: boolean) {
  if (isDraining) unready('The process is stopping; other processes take new requests.', 'stopping');
  await db.ping().catch((error) => unready('The database is unavailable.', 'database', error));
  return alive;
}

const unready = (message: string, reason: 'stopping' | 'database', cause?: unknown): never =>
  fail('SERVICE_UNAVAILABLE', { message, details: { reason }, headers: { 'retry-after': '1' }, cause });

/** The text can reach a megabyte. Requests that arrive while it is rendered share the next one. */
export function createExposition({ metricsText }: HealthDeps): () => Promise<Buffer> {
  const render = createBatcher({
    run: async (requests: readonly null[]) => {
      const bytes = Buffer.from(await metricsText());
      return requests.map(() => bytes);
    },
    maxBatch: 1_000,
    concurrency: 1,
    maxQueue: 1_000,
  });
  return () => render(null);
}
