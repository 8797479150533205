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
