/** What is over: deliveries past their time, and those whose subscription is gone. Taken away in pieces that hold nobody up. */
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';

/** Every subscription that deliveries speak of, whether or not it is still there. */
export const findLanes = (db: Queryable): Promise<{ id: string; exists: boolean; sending: boolean }[]> =>
  db.many(
    'webhooks.lanes',
    sql`with recursive lanes as (
          (select subscription_id as id from webhook_deliveries order by 1 limit 1)
          union all
          select (select d.subscription_id from webhook_deliveries d where d.subscription_id > l.id order by 1 limit 1)
          from lanes l where l.id is not null
        )
        select l.id, s.subscription_id is not null as exists, coalesce(s.active and not s.halted, false) as sending
        from lanes l left join webhook_subscriptions s on s.subscription_id = l.id where l.id is not null`,
  );

/** Answers how many went; fewer than `atMost` when nothing is left to take. */
export const deleteDeliveries = (
  db: Queryable,
  subscriptionId: string,
  { before, settledOnly, atMost }: { before: string | null; settledOnly: boolean; atMost: number },
): Promise<number> =>
  db.run(
    'webhooks.sweep',
    sql`delete from webhook_deliveries where delivery_id in (
          select delivery_id from webhook_deliveries
          where subscription_id = ${subscriptionId} and (${before}::timestamptz is null or created_at < ${before})
            and (due_at is null or not ${settledOnly})
          order by created_at limit ${atMost} for update skip locked)`,
  );
