/** Deletes expired deliveries, and those without a subscription, in chunks so that each transaction is short. */
import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';

/** Each subscription that has deliveries; deleted ones included. */
export const findSubscriptionsWithDeliveries = (
  db: Queryable,
): Promise<{ id: string; exists: boolean; sending: boolean }[]> =>
  db.many(
    'webhooks.withDeliveries',
    sql`with recursive owners as (
          (select subscription_id as id from webhook_deliveries order by 1 limit 1)
          union all
          select (select d.subscription_id from webhook_deliveries d where d.subscription_id > o.id order by 1 limit 1)
          from owners o where o.id is not null
        )
        select o.id, s.subscription_id is not null as exists, coalesce(s.active and not s.halted, false) as sending
        from owners o left join webhook_subscriptions s on s.subscription_id = o.id where o.id is not null`,
  );

/** Deletes the oldest; returns how many. Fewer than `limit` means that none is left. */
export const deleteDeliveries = (
  db: Queryable,
  subscriptionId: string,
  { before, completedOnly, limit }: { before: string | null; completedOnly: boolean; limit: number },
): Promise<number> =>
  db.run(
    'webhooks.purge',
    sql`delete from webhook_deliveries where delivery_id in (
          select delivery_id from webhook_deliveries
          where subscription_id = ${subscriptionId} and (${before}::timestamptz is null or created_at < ${before})
            and (due_at is null or not ${completedOnly})
          order by created_at limit ${limit} for update skip locked)`,
  );
