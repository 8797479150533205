import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { fail } from '../../kernel/fail.ts';
import type { HealthDeps } from './feature.ts';

export type Checks = ReturnType<typeof createChecks>;

export const alive = { status: 'ok' as const };

/** Anyone can ask, and /readyz has no rate limit. So the log has a line for each change of state, and none for a refusal. */
export function createChecks({ db, kv, auditLinking, log }: HealthDeps) {
  let isDatabaseAvailable = true;
  let isDraining = false;
  let isDrainingLogged = false;

  const pingDatabase = async () => {
    try {
      await db.ping();
    } catch (error) {
      if (isDatabaseAvailable)
        log.warn(
          { reason: 'database', err: error },
          'not ready: the database is unavailable; /readyz and /health answer 503',
        );
      isDatabaseAvailable = false;
      throw error;
    }
    if (!isDatabaseAvailable) log.info('ready again: the database is available');
    isDatabaseAvailable = true;
  };

  return {
    /** The service needs the database. Without Redis it works, and counts limits per process. */
    async health() {
      const [database, redis] = await Promise.allSettled([pingDatabase(), kv.ping()]);
      const redisState = redis.status === 'fulfilled' ? ('ok' as const) : ('away' as const);
      if (database.status === 'rejected') {
        const checks = { database: 'away', redis: redisState };
        unavailable('The database is unavailable.', { checks }, database.reason);
      }
      const checks = { database: 'ok' as const, redis: redisState };
      return { status: 'ok' as const, checks, audit: auditLinking() };
    },

    /** Redis is not needed to serve: its failure must not take every node out of the load balancer. */
    async readiness() {
      if (isDraining) {
        if (!isDrainingLogged)
          log.info({ reason: 'stopping' }, 'not ready: the process is stopping; /readyz answers 503');
        isDrainingLogged = true;
        unavailable('The process is stopping; other processes take new requests.', { reason: 'stopping' });
      }
      await pingDatabase().catch((error) =>
        unavailable('The database is unavailable.', { reason: 'database' }, error),
      );
      return alive;
    },

    drain() {
      isDraining = true;
    },
  };
}

const unavailable = (message: string, details: Record<string, unknown>, cause?: unknown): never =>
  fail('SERVICE_UNAVAILABLE', { message, details, headers: { 'retry-after': '1' }, cause, isLogged: true });

/** The text can reach a megabyte. Requests that arrive while it is rendered share the next one. */
export function createExposition({ metricsText }: HealthDeps): () => Promise<Buffer> {
  const render = createBatcher({
    name: 'metrics.render',
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
