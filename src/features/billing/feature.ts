/**
 * Billing: what an organization pays for, and the way to pay. Owns the subscriptions, the pages that lead to a payment, and the
 * memory of which payment events were acted on. A plan changes by a signed event and by nothing else, and it is the
 * organizations feature that changes it; what a plan allows is for others to enforce. Who takes the money is Stripe
 * (adapters/stripe/stripe.ts) or, where it is not configured, nobody (embedded.ts).
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
import { createEmbedded, embeddedPrices, embeddedSecret } from './embedded.ts';
import { billingLoops } from './loops.ts';
import { createPageService } from './page-service.ts';
import { createAct } from './receive.ts';
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
  describe(db: Queryable, organizationId: string): Promise<Described | undefined>;
  deletedAmong(db: Queryable, organizationIds: readonly string[]): Promise<string[]>;
  /** Kept from changing until the transaction ends; undefined when the organization is deleted or unknown. */
  holdPlan(tx: Tx, organizationId: string): Promise<{ planTier: PlanTier } | undefined>;
  /** Records the change; false when there was none to make. */
  setPlan(
    tx: Tx,
    actor: Actor & { agentId: string },
    organizationId: string,
    planTier: PlanTier,
    because: Record<string, unknown>,
  ): Promise<boolean>;
}

export interface Described {
  readonly organizationId: string;
  readonly name: string;
  readonly planTier: PlanTier;
  readonly status: 'active' | 'suspended' | 'deleted';
  readonly updatedAt: string;
}

export interface ProviderOptions {
  readonly baseUrl: string;
  readonly stripe: { readonly provider: PaymentProvider; readonly readEvent: ReadPaymentEvent } | undefined;
  /** Whether plans may be had without Stripe. */
  readonly allowEmbedded: boolean;
  readonly seal: (text: string) => string;
  readonly createEventReader: (options: {
    secret: string;
    prices: typeof embeddedPrices;
    clock: Clock;
  }) => ReadPaymentEvent;
}

export interface Billing {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  /** The address of a page where the next plan can be paid for; what `POST /tiers/upgrade` answers. */
  checkout(caller: Caller, targetTier: PaidTier): Promise<Checkout>;
}

export function createBilling(deps: BillingDeps, options: ProviderOptions): Billing {
  const { clock, ids } = deps;
  const secret = embeddedSecret(options.seal);
  const embedded = {
    ...createEmbedded({ secret, baseUrl: options.baseUrl, clock, ids }),
    readEvent: options.createEventReader({ secret, prices: embeddedPrices, clock }),
  };
  const parts = {
    ...deps,
    act: createAct(deps),
    embedded,
    stripe: options.stripe,
    takesOrders: options.stripe
      ? ('stripe' as const)
      : options.allowEmbedded
        ? ('embedded' as const)
        : undefined,
  };
  const service = createBillingService(parts);
  const pages = createPageService(parts, service);
  return {
    routes: billingRoutes(service, pages),
    loops: billingLoops(parts, service),
    checkout: (caller, targetTier) => service.checkout(caller, targetTier),
  };
}
