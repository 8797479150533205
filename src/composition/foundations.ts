/** Foundations: the adapters that every feature uses, opened as the configuration says: metrics, ids, stores, keys, policies, external tokens. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCedar } from '../adapters/cedar.ts';
import { createExternalTokens } from '../adapters/keys/external-tokens.ts';
import { createKeySets } from '../adapters/keys/key-sets.ts';
import { createSigner } from '../adapters/keys/keys.ts';
import { createMemoryKv } from '../adapters/kv/memory-kv.ts';
import { createPostgres } from '../adapters/postgres/postgres.ts';
import type { Clock } from '../kernel/clock.ts';
import { createFairQueue } from '../kernel/concurrency/fair-queue.ts';
import type { Config } from '../kernel/config/config.ts';
import { createIds } from '../kernel/ids.ts';
import type { Log } from '../kernel/observability/log.ts';
import { createMetrics } from '../kernel/observability/metrics.ts';
import { timedKv } from '../kernel/ports/kv.ts';
import type { Outbound } from '../kernel/ports/outbound.ts';
import { openKv, openProvider } from './open.ts';

/** Beside the code, in a checkout as in the published package. */
const policies = fileURLToPath(new URL('../../policies/', import.meta.url));

/** Most of the database connections for the writes of one organization, but never all of them. */
const writesPerOrganization = (poolSize: number) => ({
  concurrency: Number.POSITIVE_INFINITY,
  perKey: Math.max(Math.ceil(poolSize / 2), poolSize - 2),
  maxQueue: 500,
  maxWaitMs: 30_000,
});

export async function openFoundations(options: {
  config: Config;
  log: Log;
  clock: Clock;
  outbound: Outbound;
}) {
  const { config, log, clock, outbound } = options;
  const metrics = createMetrics();
  const database = { url: config.databaseUrl, log, metrics };
  const db = createPostgres({ ...database, poolSize: config.databasePoolSize });
  const memory = createMemoryKv(clock);
  const kv = timedKv(await openKv(config.redisUrl, memory, log), metrics);
  const provider = openProvider(config, clock);
  return {
    ...options,
    metrics,
    ids: createIds(),
    db,
    /** A pool apart from the one that requests use. */
    openSeparatePool: (poolSize: number) => createPostgres({ ...database, poolSize, separatePool: true }),
    /** One connection without a statement timeout, for migrations. */
    openWithoutTimeout: () => createPostgres({ ...database, poolSize: 1, noStatementTimeout: true }),
    /** Keyed by organization. */
    writeQueue: createFairQueue(writesPerOrganization(config.databasePoolSize)),
    /** Per-process counters while `kv` is unavailable. */
    memory,
    kv,
    signer: await createSigner({
      ...config.signingKeys,
      previousPublicKeys: config.jwtPreviousPublicKeys ?? [],
      issuer: config.baseUrl,
      clock,
    }),
    externalTokens: createExternalTokens({
      keySets: createKeySets({ outbound, clock, log, allowHttp: config.webhookAllowPrivateTargets }),
      clock,
    }),
    engine: createCedar({
      folder: config.policiesDir ?? policies,
      schemaFile: join(policies, 'schema.cedarschema'),
      log,
    }),
    /** For people who sign in to the console. */
    provider,
    async close() {
      await provider?.close();
      await db.close();
      await kv.close();
    },
  };
}

export type Foundations = Awaited<ReturnType<typeof openFoundations>>;
