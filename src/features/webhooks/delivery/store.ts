/** Deliveries as the API shows them: listed, replayed. outbox-store.ts makes them; the queue of the workers is lease-store.ts. */

import type { Queryable } from '../../../kernel/data/db.ts';
import { join, type Sql, sql } from '../../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../../kernel/data/time-range.ts';
import type { Envelope } from '../../../kernel/delivery/envelope.ts';
import type { Attempt, Delivery, DeliveryQuery } from '../schema.ts';

/** The NOTIFY channel that workers listen on. */
export const channel = 'webhook_deliveries';

interface Row extends Omit<Delivery, 'payload' | 'attempts'> {
  readonly payload: string;
  /** Attempts of an earlier version have no excerpt. */
  readonly attempts: readonly (Omit<Attempt, 'response_excerpt'> & Partial<Attempt>)[];
}

const columns = sql`
  delivery_id as id, subscription_id, event_type, payload, status, http_status_code, attempt_count, next_retry_at,
  delivered_at, created_at, updated_at, attempts`;

const toDelivery = (row: Row): Delivery => ({
  ...row,
  payload: JSON.parse(row.payload),
  attempts: row.attempts.map((attempt) => ({ response_excerpt: null, ...attempt })),
});

export async function insertDelivery(
  db: Queryable,
  delivery: { id: string; subscriptionId: string; envelope: Envelope },
): Promise<Delivery> {
  const { id, subscriptionId, envelope } = delivery;
  const row = await db.one<Row>(
    'webhooks.deliveries.insert',
    sql`insert into webhook_deliveries
          (delivery_id, subscription_id, event_id, event_type, payload, status, due_at, created_at, updated_at)
        values
          (${id}, ${subscriptionId}, ${envelope.id}, ${envelope.type}, ${JSON.stringify(envelope)}, 'pending',
           ${envelope.timestamp}, ${envelope.timestamp}, ${envelope.timestamp})
        returning ${columns}`,
  );
  await notifyWorkers(db);
  return toDelivery(row);
}

/**
 * Restarts the schedule of a delivery and keeps its recorded attempts. A leased delivery is left as it is: the result of the attempt
 * in flight would otherwise be lost. Undefined when there is no such delivery.
 */
export async function replayDelivery(
  db: Queryable,
  { id, subscriptionId, now }: { id: string; subscriptionId: string; now: string },
): Promise<Delivery | undefined> {
  const row = await db.maybe<Row>(
    'webhooks.deliveries.replay',
    sql`update webhook_deliveries
        set status = 'pending', attempt_count = 0, due_at = ${now}, next_retry_at = null, delivered_at = null,
            http_status_code = null, claim = null, claimed_until = null, updated_at = ${now}
        where delivery_id = ${id} and subscription_id = ${subscriptionId}
          and (claimed_until is null or claimed_until <= ${now})
        returning ${columns}`,
  );
  if (row) await notifyWorkers(db);
  return row ? toDelivery(row) : findDelivery(db, subscriptionId, id);
}

export async function findDelivery(
  db: Queryable,
  subscriptionId: string,
  id: string,
): Promise<Delivery | undefined> {
  const row = await db.maybe<Row>(
    'webhooks.deliveries.find',
    sql`select ${columns} from webhook_deliveries
        where delivery_id = ${id} and subscription_id = ${subscriptionId}`,
  );
  return row && toDelivery(row);
}

export const notifyWorkers = (db: Queryable): Promise<number> =>
  db.run('webhooks.notify', sql`select pg_notify(${channel}::text, '')`);

const within = (subscriptionId: string, range: TimeRange): Sql =>
  join([sql`subscription_id = ${subscriptionId}`, ...createdWithin(range)], ' and ');

export async function listDeliveries(
  db: Queryable,
  subscriptionId: string,
  range: TimeRange,
  { limit, offset, status }: DeliveryQuery,
): Promise<{ deliveries: Delivery[]; total: number }> {
  const matching = sql`${within(subscriptionId, range)} and ${status === undefined ? sql`true` : sql`status = ${status}`}`;
  const { total } = await db.one<{ total: number }>(
    'webhooks.deliveries.count',
    sql`select count(*) as total from webhook_deliveries where ${matching}`,
  );
  if (offset >= total) return { deliveries: [], total };
  const rows = await db.many<Row>(
    'webhooks.deliveries.list',
    sql`select ${columns} from webhook_deliveries where ${matching}
        order by created_at desc, delivery_id desc limit ${limit} offset ${offset}`,
  );
  return { deliveries: rows.map(toDelivery), total };
}

/** By status; a status without deliveries is absent. */
export const countDeliveries = (
  db: Queryable,
  subscriptionId: string,
  range: TimeRange,
): Promise<{ status: Delivery['status']; count: number }[]> =>
  db.many(
    'webhooks.deliveries.countByStatus',
    sql`select status, count(*) from webhook_deliveries where ${within(subscriptionId, range)} group by status`,
  );
