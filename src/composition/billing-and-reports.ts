/** What customers buy and read: plans, billing, analytics, compliance reports, webhook subscriptions, generated projects; and the instance itself. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEventReader } from '../adapters/stripe/stripe.ts';
import { createTemplates } from '../adapters/templates.ts';
import { archive } from '../adapters/zip.ts';
import { createAnalytics } from '../features/analytics/feature.ts';
import { createBilling } from '../features/billing/feature.ts';
import { createCompliance } from '../features/compliance/feature.ts';
import { createEncryption } from '../features/encryption/feature.ts';
import { createInstance } from '../features/instance/feature.ts';
import { createOverview } from '../features/overview/feature.ts';
import { createScaffold } from '../features/scaffold/feature.ts';
import { copiedSdkFiles } from '../features/scaffold/sdk-files.ts';
import { createTiers } from '../features/tiers/feature.ts';
import { createWebhooks } from '../features/webhooks/feature.ts';
import { shownConfiguration } from '../kernel/config/shown-values.ts';
import { packageRoot } from '../kernel/package-root.ts';
import { anonymousRequest } from '../kernel/policy.ts';
import { encryptedColumns } from './encrypted-columns.ts';
import type { Events } from './events.ts';
import type { Foundations } from './foundations.ts';
import { openStripe } from './open.ts';
import type { Registry } from './registry.ts';

/** Beside the code, in a checkout as in the published package. */
const root = fileURLToPath(packageRoot);

export function createBillingAndReports(base: Foundations, events: Events, registry: Registry) {
  const { config, log, clock, metrics, ids, db, memory, kv, signer, engine } = base;
  const { audit, usage, vault, deliveries, ledger } = events;
  const { requirePermission, organizations, agents, did } = registry;
  const shared = { db, clock, ids, ledger, metrics };
  const billing = createBilling(
    { ...shared, log, requirePermission, organizations },
    {
      baseUrl: config.baseUrl,
      stripe: openStripe(config, clock),
      allowEmbedded: config.embeddedBilling,
      seal: signer.seal,
      createEventReader,
    },
  );
  const tiers = createTiers({
    ...shared,
    kv,
    fallback: memory,
    planOf: organizations.planOf,
    countAgents: agents.countAgainstPlan,
    callsOn: usage.callsOn,
    tokensAt: usage.tokensAt,
    countIssued: usage.countIssued,
    countUsage: usage.count,
    checkout: billing.checkout,
  });
  const analytics = createAnalytics({
    db,
    clock,
    countIssued: usage.countIssued,
    enabled: config.analyticsEnabled,
  });
  const overview = createOverview({
    db,
    clock,
    countIssued: usage.countIssued,
    auditStatus: audit.statusOf,
  });
  const compliance = createCompliance({
    db,
    kv,
    clock,
    metrics,
    signer,
    settings: config,
    audit: audit.integrity,
    deniesByDefault: () => !engine.allows(anonymousRequest),
    identity: did,
  });
  const scaffold = createScaffold({
    findAgent: agents.find,
    apiUrl: config.baseUrl,
    template: createTemplates(join(root, 'scaffolds'), copiedSdkFiles(root)),
    archive,
  });
  const webhooks = createWebhooks({
    ...shared,
    vault,
    presence: deliveries.presence,
    enabled: config.webhooksEnabled,
    secretOverlapSeconds: config.webhookSecretOverlapSeconds,
    lockOrganization: organizations.lockOrganization,
    catchUp: deliveries.catchUp,
  });
  const encryption = createEncryption({ db, vault, ledger, log, columns: encryptedColumns });
  const instance = createInstance({
    clock,
    signer,
    runtime: base.runtime,
    configuration: shownConfiguration(config),
    audit,
  });
  return { billing, tiers, analytics, overview, compliance, scaffold, webhooks, encryption, instance };
}

export type BillingAndReports = ReturnType<typeof createBillingAndReports>;
