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
import type { embeddedPrices } from './embedded.ts';
import type { Checkout } from './schema.ts';

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
  lockPlan(tx: Tx, organizationId: string): Promise<{ planTier: PlanTier } | undefined>;
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
