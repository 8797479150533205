/**
 * The composition root: opens the adapters, makes the features, hands each the functions it needs of the others, and collects
 * their routes and loops. Read it top to bottom; composition/ has the parts, and nothing else knows every feature.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createBuiltFiles } from './adapters/built-files.ts';
import { createMcpProtocol } from './adapters/mcp.ts';
import { createOutbound } from './adapters/outbound/outbound.ts';
import { createReferencePage } from './adapters/scalar.ts';
import { type BillingAndReports, createBillingAndReports } from './composition/billing-and-reports.ts';
import { openConsole } from './composition/console.ts';
import { createDocuments } from './composition/documents.ts';
import { createEvents } from './composition/events.ts';
import { openFoundations } from './composition/foundations.ts';
import { createIssuance, type Issuance } from './composition/issuance.ts';
import { createRegistry, type Registry } from './composition/registry.ts';
import { limits } from './contract/limits.ts';
import { cancelingTypes } from './features/approvals/feature.ts';
import type { Console } from './features/console/feature.ts';
import { sessionTypes } from './features/console/sessions/listener.ts';
import { createHealth } from './features/health/feature.ts';
import { listingTypes } from './features/marketplace/listener.ts';
import { createMcp, type McpDeps } from './features/mcp/feature.ts';
import { createReference } from './features/reference/feature.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import { createLoops, type Loop } from './kernel/concurrency/loops.ts';
import type { Config } from './kernel/config/config.ts';
import { createClockSkewGuard } from './kernel/data/clock-skew-guard.ts';
import { resourceMetadataOf } from './kernel/http/access/challenges.ts';
import { createRateWindow } from './kernel/http/rate-window.ts';
import type { RouteEntry } from './kernel/http/route.ts';
import { createHttp, type Http, type HttpDeps } from './kernel/http/server.ts';
import type { Log } from './kernel/observability/log.ts';
import type { Metrics } from './kernel/observability/metrics.ts';
import { packageRoot } from './kernel/package-root.ts';
import type { Outbound } from './kernel/ports/outbound.ts';

export { encryptedColumns } from './composition/encrypted-columns.ts';

const lastFlushMs = 3_000;
/** The build: `dist/docs` of the checkout, or of the published package. */
const builtDocs = fileURLToPath(new URL('dist/docs/', packageRoot));

export interface AppOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: Clock;
  /** The client for outgoing requests; tests give one that resolves their own host names. */
  readonly outbound?: Outbound;
  /** The build of the web console; by default the one beside the code. */
  readonly consoleFolder?: string;
  /** The build of the documentation; by default the one beside the code. */
  readonly docsFolder?: string;
  /** Joins the metrics of sibling processes; by default this process's own. */
  readonly metricsText?: (own: Metrics) => Promise<string>;
  /** `probes`: only health, probes and metrics, for a process that runs the background loops. */
  readonly mode?: 'all' | 'probes';
  /** The plan of an identity file, for the MCP server; without it, that has no tool for plans. */
  readonly planChange?: McpDeps['planChange'];
  /** Overrides the limits of responses that clients do not read. */
  readonly unread?: HttpDeps['config']['unread'] | undefined;
}

export type App = Awaited<ReturnType<typeof createApp>>;

export async function createApp({
  config,
  log,
  clock = systemClock,
  outbound = createOutbound({ allowPrivate: config.webhookAllowPrivateTargets }),
  consoleFolder,
  docsFolder = builtDocs,
  metricsText = (own) => own.text(),
  mode = 'all',
  planChange,
  unread,
}: AppOptions) {
  const base = await openFoundations({ config, log, clock, outbound });
  const { metrics, ids, db, memory, kv } = base;

  const events = await createEvents(base, {
    // Each needs the other: these features record in the ledger, and the ledger tells them of changes.
    limitsOf: (caller) => reports.tiers.planUsage(caller),
    findLinks: (chainIds) => issuance.delegations.findLinkStatuses(chainIds),
    listings: {
      types: listingTypes,
      inTransaction: async (tx, changes) => registry.marketplace.listener.inTransaction?.(tx, changes),
    },
    approvals: {
      types: cancelingTypes,
      inTransaction: async (tx, changes) => issuance.approvals.listener.inTransaction?.(tx, changes),
    },
    sessions: {
      types: sessionTypes,
      inTransaction: async (tx, changes) => webConsole.listener.inTransaction?.(tx, changes),
    },
  });
  const registry: Registry = createRegistry(base, events);
  const reports: BillingAndReports = createBillingAndReports(base, events, registry);
  const issuance: Issuance = createIssuance(base, events, registry, reports, {
    // Each needs the other: the sign-in of a person goes on with an authorization request, which asks for the person's session.
    authenticateSession: (...request) => webConsole.authenticateSession(...request),
  });
  const webConsole: Console = openConsole(base, events, registry, issuance, consoleFolder);

  const { audit, eventStream, usage, deliveries, streams, recordRefusal } = events;
  const { organizations, agents, credentials, clients, people, connections, resources, did, marketplace } =
    registry;
  const { billing, tiers, analytics, overview, compliance, scaffold, webhooks, encryption, instance } =
    reports;
  const { tokens, authorization, approvals, delegations, workloads, access, federation, discovery } =
    issuance;
  const { signalStreams } = issuance;
  const health = createHealth({
    db,
    kv,
    log,
    auditLinking: audit.linking,
    metricsToken: config.metricsToken,
    metricsText: () => metricsText(metrics),
  });
  // Each needs the other: the reference page shows the server's OpenAPI document, which is made from all routes.
  const reference = createReference({
    openapi: () => http.openapi(),
    loadPage: createReferencePage(),
    docs: createBuiltFiles(docsFolder),
  });

  const window = createRateWindow({ kv, fallback: memory, clock, perMinute: config.rateLimitPerMinute });
  const mcp = createMcp({
    clock,
    ids,
    log,
    issuer: config.baseUrl,
    corsOrigin: config.corsOrigin,
    version: base.runtime.version,
    serve: createMcpProtocol((error) => log.debug({ err: error }, 'a request to the MCP server was refused')),
    sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => {}),
    requestApproval: approvals.requestAs,
    planChange,
    exceedsPlans: async (organizationId) =>
      (await window.count(`mcp-plan:organization:${organizationId}`, limits.mcp.plansPerMinute)).exceeded,
    documents: createDocuments({ openapi: () => http.openapi() }),
  });

  /** In the order of the OpenAPI document. */
  const features: readonly { routes?: readonly RouteEntry[]; loops?: readonly Loop[] }[] = [
    events.cache,
    events.refusals,
    events.idempotency,
    events.provisionedProofs,
    health,
    reference,
    discovery,
    tokens,
    authorization,
    approvals,
    delegations,
    agents,
    credentials,
    resources,
    access,
    organizations,
    people,
    clients,
    connections,
    federation,
    workloads,
    tiers,
    usage,
    analytics,
    overview,
    billing,
    audit,
    events.instanceLog,
    did,
    marketplace,
    compliance,
    scaffold,
    webhooks,
    deliveries,
    signalStreams,
    events.signals,
    eventStream,
    streams ?? {},
    webConsole,
    instance,
    mcp,
  ];
  const routes = (mode === 'all' ? features : [health]).flatMap((feature) => feature.routes ?? []);
  const http: Http = await createHttp({
    config: unread ? { ...config, unread } : config,
    log,
    metrics,
    window,
    authenticate: tokens.authenticate,
    authenticateSession: webConsole.authenticateSession,
    explainNoSession: webConsole.explainNoSession,
    authenticateClient: tokens.authenticateClient,
    possession: tokens.possession,
    explain: tokens.explain,
    recordRefusal,
    countCall: tiers.countCall,
    requirePermission: registry.requirePermission,
    idempotencyKeys: events.idempotency.keys,
    resourceMetadata: resourceMetadataOf(config.baseUrl),
    origin: config.baseUrl,
    routes,
    writeQueue: base.writeQueue,
    readQueues: base.readQueues,
    requests: base.requests,
  });
  const loops = createLoops(
    features.flatMap((feature) => feature.loops ?? []),
    log,
    // A test that sets the clock would differ from the database's clock on purpose.
    { metrics, ...(clock === systemClock && { mayPurge: createClockSkewGuard({ db, clock, log }) }) },
  );

  return {
    http,
    routes,
    loops,
    db,
    ids,
    metrics,
    organizations,
    usage,
    agents,
    clients: clients.access,
    credentials,
    audit,
    billing,
    deliveries,
    signals: events.signals,
    instanceLog: events.instanceLog,
    webConsole,
    authorization,
    encryption,
    /** Migrates the database; several nodes may call it at once. With `takeOver`, this server's key signs the audit log from now on. */
    async prepare(options?: { takeOver: boolean }) {
      await base.migrateDatabase();
      await audit.prepare(options);
      await encryption.reportMissingKeys();
    },
    drain: health.drain,
    async close() {
      health.drain();
      // Together: each has its own timeout, and a slow webhook receiver does not add to a slow client.
      await Promise.all([http.close(), loops.stop()]);
      await outbound.close();
      // Bounded: the database may not answer.
      const written = Promise.all([usage.flush(), credentials.flushUses()]);
      await Promise.race([written, sleep(lastFlushMs, undefined, { ref: false })]).catch((error) =>
        log.error({ err: error }, 'usage could not be written; the last counts and uses are lost'),
      );
      await streams?.close();
      await base.close();
    },
  };
}
