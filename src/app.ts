/**
 * The house: adapters are opened, features are made and handed what they need of one another, routes and loops are
 * collected. Read it top to bottom; nothing else knows every feature.
 */
import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createCedar } from './adapters/cedar.ts';
import {
  assertionAlgorithms,
  createAssertions,
  createSigner,
  createStatementReader,
  readPublicKey,
} from './adapters/keys.ts';
import { createMemoryKv } from './adapters/memory-kv.ts';
import { createOutbound } from './adapters/outbound.ts';
import { createPostgres } from './adapters/postgres.ts';
import { createReferencePage } from './adapters/scalar.ts';
import { type Agents, createAgents } from './features/agents/feature.ts';
import { createAudit } from './features/audit/feature.ts';
import { createCredentials } from './features/credentials/feature.ts';
import { createDiscovery } from './features/discovery/feature.ts';
import { createHealth } from './features/health/feature.ts';
import { createOrganizations, type Organizations } from './features/organizations/feature.ts';
import { createReference } from './features/reference/feature.ts';
import { createStandings, createTokens } from './features/tokens/feature.ts';
import { createDeliveries, createWebhooks } from './features/webhooks/feature.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import type { Config } from './kernel/config.ts';
import type { Db } from './kernel/db.ts';
import { createHttp, type Http } from './kernel/http.ts';
import { createIds } from './kernel/ids.ts';
import type { KeyPair } from './kernel/keypair.ts';
import { type Kv, timedKv } from './kernel/kv.ts';
import { createLedger } from './kernel/ledger.ts';
import type { Log } from './kernel/log.ts';
import { createLoops } from './kernel/loops.ts';
import { createMetrics, type Metrics } from './kernel/metrics.ts';
import { migrate } from './kernel/migrations.ts';
import type { Outbound } from './kernel/outbound.ts';
import { createRequirePermission } from './kernel/policy.ts';
import { createVault } from './kernel/vault.ts';
import { createRateWindow } from './kernel/window.ts';

export { verifyExport } from './features/audit/offline.ts';

/** Beside the code, in a checkout as in the published package. */
const policies = fileURLToPath(new URL('../policies/', import.meta.url));

export interface Surroundings {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** How others are called; by the name servers of this machine, unless a test has names of its own. */
  readonly outbound?: Outbound;
  /** Joins the figures of sibling processes; this process's own when it is alone. */
  readonly metricsText?: (own: Metrics) => Promise<string>;
}

export type App = Awaited<ReturnType<typeof createApp>>;

export async function createApp({
  config,
  log,
  clock = systemClock,
  outbound = createOutbound({ allowPrivate: config.webhookAllowPrivateTargets }),
  metricsText = (own) => own.text(),
}: Surroundings) {
  // What everything stands on.
  const metrics = createMetrics();
  const ids = createIds();
  const db = createPostgres({ url: config.databaseUrl, poolSize: config.databasePoolSize, log, metrics });
  const memory = createMemoryKv(clock);
  const kv = timedKv(await openKv(config.redisUrl, memory, log), metrics);
  const signer = await createSigner({
    ...config.signingKeys,
    previousPublicKeys: config.jwtPreviousPublicKeys ?? [],
    issuer: config.baseUrl,
    clock,
  });

  // What happened is told to these, in this order, within the transaction of the change.
  const readStatement = createStatementReader();
  const audit = createAudit({ db, clock, log, metrics, signer, readStatement });
  const standings = createStandings({ db, kv, clock });
  const vault = createVault(config.dataEncryptionKey);
  const deliveries = createDeliveries({
    db,
    clock,
    ids,
    log,
    metrics,
    outbound,
    vault,
    settings: {
      enabled: config.webhooksEnabled,
      timeoutMs: config.webhookDeliveryTimeoutMs,
      maxAttempts: config.webhookMaxRetries,
      concurrency: config.webhookWorkerConcurrency,
    },
    pause: (milliseconds) => sleep(milliseconds, undefined, { ref: false }),
    elapsed: () => performance.now(),
  });
  const listeners = [audit.listener, standings.listener, deliveries.listener];
  const ledger = createLedger({ clock, ids, listeners });

  // Who may, where scopes alone do not say it.
  const engine = createCedar({
    folder: config.policiesDir ?? policies,
    schemaFile: join(policies, 'schema.cedarschema'),
    log,
  });
  const requirePermission = createRequirePermission({
    engine,
    roleOf: (caller) => organizations.roleOf(caller),
    recordRefusal: async (caller, action) => {
      const { organizationId, agentId } = caller;
      const subject = { organizationId, agentId, outcome: 'failure', metadata: { action } } as const;
      await db.transaction((tx) => ledger.record(tx, caller, 'policy.refused', subject));
    },
  });

  // The features.
  const organizations: Organizations = createOrganizations({
    db,
    clock,
    ids,
    ledger,
    requirePermission,
    agentFor: (caller, agentId) => agents.get(caller, agentId),
  });
  const agents: Agents = createAgents({
    db,
    clock,
    ids,
    ledger,
    metrics,
    multiTenant: config.multiTenant,
    holdPlan: organizations.holdPlan,
    refuseImpersonation: organizations.refuseImpersonation,
    revokeCredentialsOf: (tx, agentId) => credentials.revokeAllOf(tx, agentId),
    readPublicKey,
  });
  const credentials = createCredentials({
    db,
    clock,
    ids,
    ledger,
    metrics,
    agentFor: agents.get,
    holdAgent: agents.hold,
    refuseImpersonation: organizations.refuseImpersonation,
  });
  const tokens = createTokens({
    db,
    clock,
    ids,
    ledger,
    metrics,
    signer,
    issuer: config.baseUrl,
    assertions: createAssertions(clock),
    standings,
    isAdmin: async (caller) => (await organizations.roleOf(caller)) === 'admin',
  });
  const webhooks = createWebhooks({
    db,
    clock,
    ids,
    ledger,
    vault,
    company: deliveries.company,
    enabled: config.webhooksEnabled,
    holdOrganization: organizations.holdPlan,
  });
  const discovery = createDiscovery({ issuer: config.baseUrl, assertionAlgorithms, signer });
  const health = createHealth({
    db,
    kv,
    metricsToken: config.metricsToken,
    metricsText: () => metricsText(metrics),
  });
  const reference = createReference({ openapi: () => http.openapi(), loadPage: createReferencePage() });

  const routes = [
    ...health.routes,
    ...reference.routes,
    ...discovery.routes,
    ...tokens.routes,
    ...agents.routes,
    ...credentials.routes,
    ...organizations.routes,
    ...audit.routes,
    ...webhooks.routes,
  ];
  const http: Http = await createHttp({
    config,
    log,
    metrics,
    window: createRateWindow({ kv, fallback: memory, clock, perMinute: config.rateLimitPerMinute }),
    identify: tokens.identify,
    requirePermission,
    resourceMetadata: `${config.baseUrl}/.well-known/oauth-protected-resource`,
    routes,
  });
  const loops = createLoops([...audit.loops, ...tokens.loops, ...deliveries.loops], log);

  return {
    http,
    routes,
    loops,
    db,
    ids,
    metrics,
    organizations,
    agents,
    credentials,
    audit,
    deliveries,
    /** Brings the database up to date; safe to call from several nodes at once. */
    async prepare() {
      const migrator = createPostgres({ url: config.databaseUrl, poolSize: 1, log, metrics, patient: true });
      await migrate({ db: migrator, log, clock }).finally(() => migrator.close());
      await audit.prepare();
    },
    async close() {
      await http.close();
      await loops.stop();
      await outbound.close();
      await closeStores(db, kv);
    },
  };
}

/** The audit log alone, for whoever checks or exports it at the console. */
export async function openAudit(options: {
  databaseUrl: string;
  signingKeys: KeyPair;
  previousPublicKeys: readonly KeyObject[];
  issuer: string;
  log: Log;
}) {
  const { databaseUrl, signingKeys, log } = options;
  const clock = systemClock;
  const metrics = createMetrics();
  const db = createPostgres({ url: databaseUrl, poolSize: 2, log, metrics, patient: true });
  const signer = await createSigner({ ...options, ...signingKeys, clock });
  const audit = createAudit({ db, clock, log, metrics, signer, readStatement: createStatementReader() });
  return { audit, close: () => db.close() };
}

/** The driver is loaded where there is a Redis to speak to. */
async function openKv(url: string, memory: Kv, log: Log): Promise<Kv> {
  if (url.startsWith('memory:')) return memory;
  const { createRedisKv } = await import('./adapters/redis.ts');
  return createRedisKv(url, log);
}

async function closeStores(db: Db, kv: Kv): Promise<void> {
  await db.close();
  await kv.close();
}
