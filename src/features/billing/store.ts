import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { PaidTier, ProviderName, SubscriptionStatus } from '../../kernel/ports/payments.ts';

export interface StoredSubscription {
  readonly organizationId: string;
  readonly provider: ProviderName;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly tier: PaidTier;
  readonly status: SubscriptionStatus;
  readonly grantedTier: PaidTier | null;
  readonly currentPeriodEnd: string | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly subscribedAt: string;
  readonly asOf: string;
  readonly updatedAt: string;
}

const columns = sql`
  organization_id as "organizationId", provider, customer_id as "customerId", subscription_id as "subscriptionId", tier,
  status, granted_tier as "grantedTier", current_period_end as "currentPeriodEnd",
  cancel_at_period_end as "cancelAtPeriodEnd", subscribed_at as "subscribedAt", as_of as "asOf",
  updated_at as "updatedAt"`;

export const findSubscription = (
  db: Queryable,
  organizationId: string,
): Promise<StoredSubscription | undefined> =>
  db.maybe(
    'billing.subscription',
    sql`select ${columns} from billing_subscriptions where organization_id = ${organizationId}`,
  );

/** Subscriptions that will renew, in the order of their organizations. */
export const listRenewing = (
  db: Queryable,
  provider: ProviderName,
  page: { after: string; limit: number },
): Promise<StoredSubscription[]> =>
  db.many(
    'billing.renewing',
    sql`select ${columns} from billing_subscriptions
        where provider = ${provider} and status <> 'canceled' and not cancel_at_period_end
          and organization_id > ${page.after}
        order by organization_id limit ${page.limit}`,
  );

/** The organization that owns the subscription; otherwise the one that is this customer. */
export async function findOwner(
  db: Queryable,
  provider: ProviderName,
  ids: { subscriptionId: string; customerId: string },
): Promise<{ organizationId: string; bySubscription: boolean } | undefined> {
  return db.maybe(
    'billing.owner',
    sql`select organization_id as "organizationId", subscription_id = ${ids.subscriptionId} as "bySubscription"
        from billing_subscriptions
        where provider = ${provider}
          and (subscription_id = ${ids.subscriptionId} or customer_id = ${ids.customerId})
        order by subscription_id = ${ids.subscriptionId} desc, updated_at desc limit 1`,
  );
}

/** The caller must have locked the organization: that lock covers this row as well. */
export async function saveSubscription(db: Queryable, s: StoredSubscription): Promise<void> {
  await db.run(
    'billing.save',
    sql`insert into billing_subscriptions
          (organization_id, provider, customer_id, subscription_id, tier, status, granted_tier, current_period_end,
           cancel_at_period_end, subscribed_at, as_of, updated_at)
        values
          (${s.organizationId}, ${s.provider}, ${s.customerId}, ${s.subscriptionId}, ${s.tier}, ${s.status},
           ${s.grantedTier}, ${s.currentPeriodEnd}, ${s.cancelAtPeriodEnd}, ${s.subscribedAt}, ${s.asOf}, ${s.updatedAt})
        on conflict (organization_id) do update set
          provider = excluded.provider, customer_id = excluded.customer_id,
          subscription_id = excluded.subscription_id, tier = excluded.tier, status = excluded.status,
          granted_tier = excluded.granted_tier, current_period_end = excluded.current_period_end,
          cancel_at_period_end = excluded.cancel_at_period_end, subscribed_at = excluded.subscribed_at,
          as_of = excluded.as_of, updated_at = excluded.updated_at`,
  );
}

interface ProcessedEvent {
  readonly provider: ProviderName;
  readonly eventId: string;
  readonly type: string;
  readonly receivedAt: string;
}

/** False when it was processed before. A concurrent transaction with the same event waits for this one. */
export async function insertEvent(db: Queryable, event: ProcessedEvent): Promise<boolean> {
  const { provider, eventId, type, receivedAt } = event;
  const inserted = await db.run(
    'billing.event',
    sql`insert into billing_events (provider, event_id, event_type, received_at)
        values (${provider}, ${eventId}, ${type}, ${receivedAt})
        on conflict (provider, event_id) do nothing`,
  );
  return inserted === 1;
}

/** Returns how many it deleted. */
export const deleteOldEvents = (db: Queryable, before: string, limit: number): Promise<number> =>
  db.run(
    'billing.purgeEvents',
    sql`delete from billing_events where ctid = any (array(
          select ctid from billing_events where received_at < ${before} limit ${limit} for update skip locked))`,
  );
