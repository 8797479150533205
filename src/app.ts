/**
 * The house: adapters are opened, features are made and handed what they need of one another, routes and loops are
 * collected. Read it top to bottom; nothing else knows every feature.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  assertionAlgorithms,
  createAssertions,
  createAttestationReader,
  createStatementReader,
  readPublicKey,
} from './adapters/keys/keys.ts';
import { createOutbound } from './adapters/outbound/outbound.ts';
import { createReferencePage } from './adapters/scalar.ts';
import { createEventReader } from './adapters/stripe/stripe.ts';
import { createTemplates } from './adapters/templates.ts';
import { archive } from './adapters/zip.ts';
import { openFoundations } from './composition/foundations.ts';
import { openStreaming, openStripe } from './composition/open.ts';
import type { Agents } from './features/agents/deps.ts';
import { agentsChange, createAgents } from './features/agents/feature.ts';
import { createAnalytics } from './features/analytics/feature.ts';
import { createAudit } from './features/audit/feature.ts';
import { createBilling } from './features/billing/feature.ts';
import { createCompliance } from './features/compliance/feature.ts';
import { createCredentials } from './features/credentials/feature.ts';
import type { Delegations } from './features/delegation/deps.ts';
import { chainsEndWithAgents, createDelegations } from './features/delegation/feature.ts';
import { createDid } from './features/did/feature.ts';
import { createDiscovery } from './features/discovery/feature.ts';
import { createFederation } from './features/federation/feature.ts';
import { createHealth } from './features/health/feature.ts';
import type { Marketplace } from './features/marketplace/deps.ts';
import { createMarketplace } from './features/marketplace/feature.ts';
import type { Oidc } from './features/oidc/deps.ts';
import { clientWords, createOidc, grantWords } from './features/oidc/feature.ts';
import type { Organizations } from './features/organizations/deps.ts';
import { createOrganizations } from './features/organizations/feature.ts';
import { createReference } from './features/reference/feature.ts';
import { createScaffold } from './features/scaffold/feature.ts';
import { createStreams } from './features/streams/feature.ts';
import type { Tiers } from './features/tiers/deps.ts';
import { createTiers } from './features/tiers/feature.ts';
import type { Tokens } from './features/tokens/deps.ts';
import { createStandings, createTokens } from './features/tokens/feature.ts';
import { createUsage, shardFrom } from './features/usage/feature.ts';
import { createDeliveries, createWebhooks, envelopeOf } from './features/webhooks/feature.ts';
import type { Caller } from './kernel/caller.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import { createFairQueue } from './kernel/concurrency/fair-queue.ts';
import { createLoops } from './kernel/concurrency/loops.ts';
import type { Config } from './kernel/config/config.ts';
import { createClockSkewGuard } from './kernel/data/clock-skew-guard.ts';
import { createInvalidatingCache } from './kernel/data/invalidating-cache.ts';
import { migrate } from './kernel/data/migrations.ts';
import { createVault } from './kernel/data/vault.ts';
import type { LedgerListener } from './kernel/domain-event.ts';
import { createRateWindow } from './kernel/http/rate-window.ts';
import { createHttp, type Http } from './kernel/http/server.ts';
import { createLedger } from './kernel/ledger.ts';
import type { Log } from './kernel/observability/log.ts';
import type { Metrics } from './kernel/observability/metrics.ts';
import { anonymousQuestion, createRequirePermission } from './kernel/policy.ts';
import type { Outbound } from './kernel/ports/outbound.ts';
import { createRecordRefusal, createRefusalsLoop } from './kernel/refusals.ts';

/** Beside the code, in a checkout as in the published package. */
const scaffolds = fileURLToPath(new URL('../scaffolds/', import.meta.url));

const lastWriteMs = 3_000;

/**
 * A token exchange holds a database connection while it waits for locks. All ways to exchange share these places, so that
 * connections remain for other requests; an organization can take half of the places.
 */
const exchanges = { concurrency: 4, perKey: 2, maxQueue: 200, maxWaitMs: 30_000 } as const;

export interface AppOptions {
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
}: AppOptions) {
  const base = await openFoundations({ config, log, clock, outbound });
  const { metrics, ids, db, memory, kv, signer, outside, engine } = base;

  // What happened is told to these, in this order, within the transaction of the change.
  const readStatement = createStatementReader();
  const audit = createAudit({ db, clock, log, metrics, signer, readStatement });
  const usage = createUsage({
    db,
    clock,
    shard: shardFrom(ids),
    limitsOf: (caller) => tiers.standing(caller),
  });
  const cache = createInvalidatingCache({ kv, clock });
  const standings = createStandings({
    db,
    clock,
    cache: cache,
    findChains: (chainIds) => delegations.findParts(chainIds),
  });
  const listings: LedgerListener = {
    inTransaction: async (tx, happenings) => marketplace.listener.inTransaction?.(tx, happenings),
  };
  const streaming = await openStreaming(config, base.openAside);
  const streams = streaming && createStreams({ ...streaming, log, metrics, envelopeOf });
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
    countDelivery: (organizationId, agentId) => usage.count(organizationId, agentId, 'webhook_deliveries'),
  });
  const ledger = createLedger({
    clock,
    ids,
    // Whoever may have to wait comes before what is announced, since that must outlast all that follows until the commit.
    listeners: [
      audit.listener,
      chainsEndWithAgents,
      listings,
      deliveries.listener,
      standings.listener,
      agentsChange(cache),
      usage.listener,
      ...(streams ? [streams.listener] : []),
    ],
  });

  const recordRefusal = createRecordRefusal({ db, ledger });

  // Who may, where scopes alone do not say it.
  const requirePermission = createRequirePermission({
    engine,
    roleOf: (caller) => organizations.roleOf(caller),
    recordRefusal: (caller, action) => {
      const { organizationId, agentId } = caller;
      const subject = { organizationId, agentId, outcome: 'failure', metadata: { action } } as const;
      return recordRefusal({ actor: caller, type: 'policy.refused', subject });
    },
  });

  // The features.
  const basics = { db, clock, ids, ledger, metrics };
  const trust = { ...basics, signer, issuer: config.baseUrl };
  const issuing = { ...trust, recordRefusal, exchangeQueue: createFairQueue(exchanges) };
  const organizations: Organizations = createOrganizations({
    ...basics,
    requirePermission,
    agentFor: (caller, agentId) => agents.get(caller, agentId),
  });
  const agents: Agents = createAgents({
    ...basics,
    cache: cache,
    multiTenant: config.multiTenant,
    holdPlan: organizations.holdPlan,
    refuseImpersonation: organizations.refuseImpersonation,
    revokeCredentialsOf: (tx, agentId) => credentials.revokeAllOf(tx, agentId),
    readPublicKey,
  });
  const credentials = createCredentials({
    ...basics,
    agentFor: agents.get,
    holdAgent: agents.hold,
    refuseImpersonation: organizations.refuseImpersonation,
  });
  const tiers: Tiers = createTiers({
    ...basics,
    kv,
    fallback: memory,
    planOf: organizations.planOf,
    countAgents: agents.countLiving,
    callsOn: usage.callsOn,
    tokensAt: usage.tokensAt,
    countUsage: usage.count,
    checkout: (caller, target) => billing.checkout(caller, target),
  });
  const analytics = createAnalytics({ db, clock, enabled: config.analyticsEnabled });
  const isAdmin = async (caller: Caller) => (await organizations.roleOf(caller)) === 'admin';
  const delegations: Delegations = createDelegations({
    ...trust,
    mint: (tx, minting) => tokens.mint(tx, minting),
    findAgents: agents.findAll,
    holdAgents: agents.holdAll,
    organizationStatusOf: organizations.statusOf,
    isAdmin,
    inspect: (token) => tokens.inspect(token),
    count: (metric, { organizationId, agentId }) => usage.count(organizationId, agentId, metric),
  });
  const grants = [delegations.grant];
  const tokens: Tokens = createTokens({
    ...issuing,
    assertions: createAssertions(clock),
    standings,
    isAdmin,
    grants,
    outsideProofs: {
      isOutside: (assertion) => oidc.exchange.isOutside(assertion),
      redeem: (proof, audience) => oidc.exchange.redeem(proof, audience, clientWords),
      admit: (proof, issue) => oidc.exchange.admit(proof, grantWords, issue),
    },
    checkPlans: tiers.checkTokens,
    countIntrospection: ({ organizationId, agentId }) =>
      usage.count(organizationId, agentId, 'introspections'),
  });
  const oidc: Oidc = createOidc({
    ...issuing,
    multiTenant: config.multiTenant,
    outside,
    allowHttp: config.webhookAllowPrivateTargets,
    mint: tokens.mint,
    countExchange: ({ organizationId, agentId }) => usage.count(organizationId, agentId, 'token_exchanges'),
    holdStanding: tokens.holdStanding,
    findStanding: tokens.findStanding,
    holdAgent: agents.hold,
    refuseImpersonation: organizations.refuseImpersonation,
  });
  const federation = createFederation({
    ...trust,
    outside,
    allowHttp: config.webhookAllowPrivateTargets,
  });
  const billing = createBilling(
    { ...basics, log, requirePermission, organizations },
    {
      baseUrl: config.baseUrl,
      stripe: openStripe(config, clock),
      allowEmbedded: config.embeddedBilling,
      seal: signer.seal,
      createEventReader,
    },
  );
  const discovery = createDiscovery({
    issuer: config.baseUrl,
    assertionAlgorithms,
    grantTypes: grants.map(({ grantType }) => grantType),
    signer,
  });
  const did = createDid({
    baseUrl: config.baseUrl,
    clock,
    ids,
    metrics,
    signer,
    readAttestation: createAttestationReader(),
    factsOf: async (agentId) => (await agents.facts([agentId]))[0],
    organizationOf: (organizationId) => organizations.describe(db, organizationId),
    interfacesOf: (agentId) => marketplace.interfacesOf(agentId),
  });
  const marketplace: Marketplace = createMarketplace({
    ...basics,
    holdAgent: agents.hold,
    refuseImpersonation: organizations.refuseImpersonation,
    factsOf: agents.facts,
    isVerified: async (facts) => (await did.conformityOf(facts)).verified,
    didOf: did.names.agent,
    cardUrlOf: did.names.card,
  });
  const compliance = createCompliance({
    db,
    kv,
    clock,
    metrics,
    signer,
    settings: config,
    audit: audit.integrity,
    deniesByDefault: () => !engine.allows(anonymousQuestion),
    identity: did,
  });
  const scaffold = createScaffold({
    findAgent: agents.find,
    apiUrl: config.baseUrl,
    template: createTemplates(scaffolds),
    archive,
  });
  const webhooks = createWebhooks({
    ...basics,
    vault,
    company: deliveries.company,
    enabled: config.webhooksEnabled,
    holdOrganization: organizations.holdPlan,
  });
  const health = createHealth({
    db,
    kv,
    auditLinking: audit.linking,
    metricsToken: config.metricsToken,
    metricsText: () => metricsText(metrics),
  });
  const reference = createReference({ openapi: () => http.openapi(), loadPage: createReferencePage() });

  const routes = [
    ...health.routes,
    ...reference.routes,
    ...discovery.routes,
    ...tokens.routes,
    ...delegations.routes,
    ...agents.routes,
    ...credentials.routes,
    ...organizations.routes,
    ...federation.routes,
    ...oidc.routes,
    ...tiers.routes,
    ...usage.routes,
    ...analytics.routes,
    ...billing.routes,
    ...audit.routes,
    ...did.routes,
    ...marketplace.routes,
    ...compliance.routes,
    ...scaffold.routes,
    ...webhooks.routes,
  ];
  const http: Http = await createHttp({
    config,
    log,
    metrics,
    window: createRateWindow({ kv, fallback: memory, clock, perMinute: config.rateLimitPerMinute }),
    identify: tokens.identify,
    explain: tokens.explain,
    recordRefusal,
    countCall: tiers.countCall,
    requirePermission,
    resourceMetadata: `${config.baseUrl}/.well-known/oauth-protected-resource`,
    routes,
  });
  const loops = createLoops(
    [
      ...cache.loops,
      createRefusalsLoop(basics),
      ...audit.loops,
      ...tokens.loops,
      ...delegations.loops,
      ...usage.loops,
      ...billing.loops,
      ...oidc.loops,
      ...compliance.loops,
      ...deliveries.loops,
      ...(streams?.loops ?? []),
    ],
    log,
    // Who moves the clock, as tests do, moves it for both.
    clock === systemClock ? { mayPurge: createClockSkewGuard({ db, clock, log }) } : {},
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
    credentials,
    audit,
    billing,
    deliveries,
    /** Brings the database up to date; safe to call from several nodes at once. A server's key takes over the audit log. */
    async prepare(options?: { takeOver: boolean }) {
      const migrator = base.openPatient();
      await migrate({ db: migrator, log, clock }).finally(() => migrator.close());
      await audit.prepare(options);
    },
    async close() {
      // Together: each has its own patience, and a slow receiver is not to be waited for after a slow client.
      await Promise.all([http.close(), loops.stop()]);
      await outbound.close();
      // A database that does not answer is not waited for.
      await Promise.race([usage.flush(), sleep(lastWriteMs, undefined, { ref: false })]).catch((error) =>
        log.error({ err: error }, 'the last counts of use are lost'),
      );
      await streams?.close();
      await base.close();
    },
  };
}
