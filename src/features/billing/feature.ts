/**
 * Billing: the subscriptions of organizations and their payment. Owns the subscriptions, the checkout and portal sessions, and the
 * record of processed payment events. Only a signed payment event changes a plan, through the organizations feature; the tiers
 * feature enforces it. The payment provider is Stripe (adapters/stripe/stripe.ts) or the embedded one, which takes no money.
 */

import type { PlanTier } from '../../contract/limits.ts';
import type { Actor, Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { PaidTier, PaymentProvider, ReadPaymentEvent } from '../../kernel/ports/payments.ts';
import { createApplyEvent } from './apply-event.ts';
import { createEmbeddedProvider, embeddedPrices, embeddedSecret } from './embedded.ts';
import { createEmbeddedPages } from './embedded-pages.ts';
import { billingLoops } from './loops.ts';
import { billingRoutes } from './routes.ts';
import type { Checkout } from './schema.ts';
import { createBillingService } from './service.ts';

export interface BillingDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly requirePermission: RequirePermission;
  readonly organizations: OrganizationPorts;
}

export interface OrganizationPorts {
  /** Undefined when it is unknown. */
  describe(db: Queryable, organizationId: string): Promise<OrganizationSummary | undefined>;
  deletedAmong(db: Queryable, organizationIds: readonly string[]): Promise<string[]>;
  /** Locks the plan until the transaction ends; undefined when the organization is deleted or unknown. */
  lockOrganization(tx: Tx, organizationId: string): Promise<{ planTier: PlanTier } | undefined>;
  /** Records the change; false when the plan is unchanged. */
  setPlan(
    tx: Tx,
    actor: Actor & { agentId: string },
    organizationId: string,
    planTier: PlanTier,
    metadata: Record<string, unknown>,
  ): Promise<boolean>;
}

export interface OrganizationSummary {
  readonly organizationId: string;
  readonly name: string;
  readonly planTier: PlanTier;
  readonly status: 'active' | 'suspended' | 'deleted';
  readonly updatedAt: string;
}

export interface ProviderOptions {
  readonly baseUrl: string;
  readonly stripe: { readonly provider: PaymentProvider; readonly readEvent: ReadPaymentEvent } | undefined;
  /** Whether plans can be ordered without Stripe, and without payment. */
  readonly allowEmbedded: boolean;
  readonly seal: (text: string) => string;
  readonly createEventReader: (options: {
    secret: string;
    prices: Readonly<Record<PaidTier, string>>;
    clock: Clock;
  }) => ReadPaymentEvent;
}

export interface Billing {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  /** Starts the payment of a plan; for `POST /tiers/upgrade`. */
  checkout(caller: Caller, targetTier: PaidTier): Promise<Checkout>;
}

export function createBilling(deps: BillingDeps, options: ProviderOptions): Billing {
  const { clock, ids } = deps;
  const secret = embeddedSecret(options.seal);
  const embedded = {
    ...createEmbeddedProvider({ secret, baseUrl: options.baseUrl, clock, ids }),
    readEvent: options.createEventReader({ secret, prices: embeddedPrices, clock }),
  };
  const serviceDeps = {
    ...deps,
    applyEvent: createApplyEvent(deps),
    embedded,
    stripe: options.stripe,
    orderProvider: options.stripe
      ? ('stripe' as const)
      : options.allowEmbedded
        ? ('embedded' as const)
        : undefined,
  };
  const service = createBillingService(serviceDeps);
  const pages = createEmbeddedPages(serviceDeps, service);
  return {
    routes: billingRoutes(service, pages),
    loops: billingLoops(serviceDeps, service),
    checkout: (caller, targetTier) => service.checkout(caller, targetTier),
  };
}
