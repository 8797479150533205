/** Foundations: the adapters that every feature uses, opened as the configuration says: metrics, ids, stores, keys, policies, external tokens. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCedar } from '../adapters/cedar.ts';
import { createPossession } from '../adapters/keys/dpop.ts';
import { createExternalTokens } from '../adapters/keys/external-tokens.ts';
import { createKeySets } from '../adapters/keys/key-sets.ts';
import { createSigner } from '../adapters/keys/keys.ts';
import { createMemoryKv } from '../adapters/kv/memory-kv.ts';
import { openObjectStorage } from '../adapters/object-storage/open.ts';
import { createPostgres } from '../adapters/postgres/postgres.ts';
import { requireSameDatabase, tryPreparedStatements } from '../adapters/postgres/start-checks.ts';
import { dropGlobalEmailIndex } from '../features/agents/feature.ts';
import type { Clock } from '../kernel/clock.ts';
import { createFairQueue } from '../kernel/concurrency/fair-queue.ts';
import type { Config } from '../kernel/config/config.ts';
import { measureClockSkew } from '../kernel/data/clock-skew-guard.ts';
import { migrate } from '../kernel/data/migrations.ts';
import { createIds } from '../kernel/ids.ts';
import type { Log } from '../kernel/observability/log.ts';
import { createMetrics, type Metrics } from '../kernel/observability/metrics.ts';
import { packageRoot } from '../kernel/package-root.ts';
import { type Kv, timedKv } from '../kernel/ports/kv.ts';
import type { Outbound } from '../kernel/ports/outbound.ts';
import { openKv, openMailer, openProvider } from './open.ts';

/** Beside the code, in a checkout as in the published package. */
const policies = fileURLToPath(new URL('policies/', packageRoot));

const { version } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));
const runtime: { readonly version: string; readonly node: string } = { version, node: process.version };

/** Most of the database connections for the writes of one organization, but never all of them. */
const writesPerOrganization = (poolSize: number) => ({
  concurrency: Number.POSITIVE_INFINITY,
  perKey: Math.max(Math.ceil(poolSize / 2), poolSize - 2),
  maxQueue: 500,
  maxWaitMs: 30_000,
});

/**
 * One of these reads of an organization at a time, and then a rest: two of three parts of the time are left to others, also on a machine
 * with few cores. A third of the connections for all organizations.
 */
const heavyReads = (poolSize: number) => ({
  concurrency: Math.max(1, Math.ceil(poolSize / 3)),
  perKey: 1,
  restFactor: 2,
  maxQueue: 200,
  maxWaitMs: 30_000,
});

/** Each holds a connection. An organization has room for the verifications of two minutes. */
const longReads = (poolSize: number) => ({
  concurrency: Math.max(1, Math.ceil(poolSize / 3)),
  perKey: 1,
  maxQueue: 60,
});

const directDatabase = (url: string) => ({
  url,
  variable: 'DATABASE_DIRECT_URL',
  pooler: 'none' as const,
  preparedStatements: true,
});

export async function openFoundations(options: {
  config: Config;
  log: Log;
  clock: Clock;
  outbound: Outbound;
}) {
  const { config, log, clock, outbound } = options;
  const metrics = createMetrics();
  const database = {
    url: config.databaseUrl,
    pooler: config.databasePooler,
    preparedStatements: config.databasePreparedStatements,
    directUrl: config.databaseDirectUrl,
    log,
    metrics,
  };
  const direct =
    config.databaseDirectUrl === undefined ? undefined : directDatabase(config.databaseDirectUrl);
  const db = createPostgres({ ...database, poolSize: config.databasePoolSize });
  const openSeparatePool = (poolSize: number) =>
    createPostgres({ ...database, poolSize, separatePool: true });
  const memory = createMemoryKv(clock);
  const store = await openKv(config.redisUrl, memory, log);
  const isRedis = store !== memory;
  const kv = timedKv(store, metrics, { isRedis });
  if (isRedis) exposeAvailability(store, metrics);
  metrics.gauge('service_build_info', 1, runtime);
  metrics.gaugeFromQuery('service_clock_skew_seconds', () => measureClockSkew({ db, clock }));
  const provider = openProvider(config, clock);
  const mailer = await openMailer(config);
  const archiveStorage = config.auditArchive && (await openObjectStorage(config.auditArchive));
  return {
    ...options,
    metrics,
    ids: createIds(),
    db,
    /** A pool apart from the one that requests use. */
    openSeparatePool,
    /** Several nodes may call it at once. */
    async migrateDatabase() {
      const migrator = createPostgres({ ...database, ...direct, poolSize: 1, noStatementTimeout: true });
      const other = direct ? openSeparatePool(1) : migrator;
      try {
        if (config.databasePreparedStatements) await tryPreparedStatements(db, other);
        if (direct) await requireSameDatabase(db, migrator);
        await migrate({ db: migrator, log, clock });
        if (config.multiTenant) await dropGlobalEmailIndex(migrator, clock);
      } finally {
        await Promise.all([...new Set([other, migrator])].map((each) => each.close()));
      }
    },
    /** Keyed by organization. */
    writeQueue: createFairQueue({
      ...writesPerOrganization(config.databasePoolSize),
      measured: { metrics, name: 'writes' },
    }),
    /** Counted by the HTTP server; background work paces itself by it. */
    requests: { count: 0 },
    /** Keyed by organization. */
    readQueues: {
      heavy: createFairQueue({
        ...heavyReads(config.databasePoolSize),
        measured: { metrics, name: 'heavy_reads' },
      }),
      long: createFairQueue({
        ...longReads(config.databasePoolSize),
        measured: { metrics, name: 'long_reads' },
      }),
    },
    /** Per-process counters while `kv` is unavailable. */
    memory,
    kv,
    runtime,
    signer: await createSigner({
      ...config.signingKeys,
      previousPublicKeys: config.jwtPreviousPublicKeys ?? [],
      issuer: config.baseUrl,
      clock,
    }),
    possession: createPossession({
      clock,
      privateKey: config.signingKeys.privateKey,
      requireNonce: config.dpopRequireNonce,
    }),
    externalTokens: createExternalTokens({
      keySets: createKeySets({ outbound, clock, log, allowHttp: config.webhookAllowPrivateTargets }),
      clock,
    }),
    engine: createCedar({
      metrics,
      folder: config.policiesDir ?? policies,
      schemaFile: join(policies, 'schema.cedarschema'),
      log,
    }),
    outbound,
    /** For people who sign in to the console. */
    provider,
    mailer,
    /** Undefined when no audit archive is configured. */
    archiveStorage,
    async close() {
      await archiveStorage?.close();
      await provider?.close();
      mailer?.close();
      await db.close();
      await store.close();
    },
  };
}

/** Asked at each scrape. Not timed: it would mix with the commands of requests. */
const exposeAvailability = (redis: Kv, metrics: Metrics) =>
  metrics.gaugeFromQuery('service_redis_available', () =>
    redis.ping().then(
      () => 1,
      () => 0,
    ),
  );

export type Foundations = Awaited<ReturnType<typeof openFoundations>>;
