/** What customers buy and read: plans, billing, analytics, compliance reports, webhook subscriptions, generated projects. */
import { fileURLToPath } from 'node:url';
import { createEventReader } from '../adapters/stripe/stripe.ts';
import { createTemplates } from '../adapters/templates.ts';
import { archive } from '../adapters/zip.ts';
import { createAnalytics } from '../features/analytics/feature.ts';
import { createBilling } from '../features/billing/feature.ts';
import { createCompliance } from '../features/compliance/feature.ts';
import { createScaffold } from '../features/scaffold/feature.ts';
import { createTiers } from '../features/tiers/feature.ts';
import { createWebhooks } from '../features/webhooks/feature.ts';
import { anonymousRequest } from '../kernel/policy.ts';
import type { Events } from './events.ts';
import type { Foundations } from './foundations.ts';
import { openStripe } from './open.ts';
import type { Registry } from './registry.ts';

/** Beside the code, in a checkout as in the published package. */
const scaffolds = fileURLToPath(new URL('../../scaffolds/', import.meta.url));

export function createProduct(base: Foundations, events: Events, registry: Registry) {
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
    template: createTemplates(scaffolds),
    archive,
  });
  const webhooks = createWebhooks({
    ...shared,
    vault,
    presence: deliveries.presence,
    enabled: config.webhooksEnabled,
    secretOverlapSeconds: config.webhookSecretOverlapSeconds,
    lockOrganization: organizations.lockPlan,
  });
  return { billing, tiers, analytics, compliance, scaffold, webhooks };
}

export type Product = ReturnType<typeof createProduct>;
