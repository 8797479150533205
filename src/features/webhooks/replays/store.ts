/** Replays of many deliveries: a row per request, and the position that it has reached. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { ReplayFilter } from './period.ts';

export async function countReplayable(
  db: Queryable,
  subscriptionId: string,
  { statuses, since, until }: ReplayFilter,
): Promise<number> {
  const { count } = await db.one<{ count: number }>(
    'webhooks.replays.countDeliveries',
    sql`select count(*) from webhook_deliveries
        where subscription_id = ${subscriptionId} and status = any(${statuses}) and created_at between ${since} and ${until}`,
  );
  return count;
}

export async function countOpenReplays(db: Queryable, subscriptionId: string): Promise<number> {
  const { count } = await db.one<{ count: number }>(
    'webhooks.replays.count',
    sql`select count(*) from webhook_replays where subscription_id = ${subscriptionId}`,
  );
  return count;
}

/** The caller has locked the subscription, so the numbers of its replays grow in the order of their commits. */
export async function insertReplay(
  tx: Tx,
  subscriptionId: string,
  { statuses, since, until }: ReplayFilter,
  now: string,
): Promise<void> {
  await tx.run(
    'webhooks.replays.insert',
    sql`insert into webhook_replays (subscription_id, statuses, until, after_created_at, after_delivery_id, visited_at)
        values (${subscriptionId}, ${statuses}, ${until}, ${since}, ${nilUuid}, ${now})`,
  );
}

/** The replays that can continue, or whose subscription was deleted; the one that has waited longest comes first. */
export const findOpenReplays = (db: Queryable, limit: number): Promise<{ number: number }[]> =>
  db.many(
    'webhooks.replays.open',
    sql`select r.number from webhook_replays r left join webhook_subscriptions s using (subscription_id)
        where s.subscription_id is null or (s.active and not s.halted)
        order by r.visited_at, r.number limit ${limit}`,
  );

/** Undefined when it has ended, or another process is running it. */
export const lockReplay = (tx: Tx, number: number): Promise<{ subscriptionId: string } | undefined> =>
  tx.maybe(
    'webhooks.replays.lock',
    sql`select subscription_id as "subscriptionId" from webhook_replays where number = ${number}
        for update skip locked`,
  );

/** Excludes requests for further replays: they count and are numbered either before or after the chunk. */
export const lockSubscriptionShared = (tx: Tx, subscriptionId: string): Promise<object | undefined> =>
  tx.maybe(
    'webhooks.replays.lockSubscription',
    sql`select subscription_id from webhook_subscriptions where subscription_id = ${subscriptionId} for share`,
  );

export async function hasBacklog(
  db: Queryable,
  subscriptionId: string,
  { size, now }: { size: number; now: string },
): Promise<boolean> {
  const row = await db.maybe(
    'webhooks.replays.backlog',
    sql`select delivery_id from webhook_deliveries where subscription_id = ${subscriptionId} and due_at <= ${now}
        order by due_at limit 1 offset ${size}`,
  );
  return row !== undefined;
}

export async function markVisited(db: Queryable, number: number, now: string): Promise<void> {
  await db.run(
    'webhooks.replays.visit',
    sql`update webhook_replays set visited_at = ${now} where number = ${number}`,
  );
}

/**
 * Makes the next deliveries of a replay pending, as the replay of a single one does, and moves its position behind them. Leased and
 * locked deliveries are being sent already. A delivery that another replay made pending after this one was requested is skipped.
 * Returns how many it found; fewer than `limit` means that none is left.
 */
export async function replayChunk(
  tx: Tx,
  number: number,
  { limit, now }: { limit: number; now: string },
): Promise<number> {
  const { found } = await tx.one<{ found: number }>(
    'webhooks.replays.chunk',
    sql`with replay as (
          select subscription_id, statuses, until, after_created_at, after_delivery_id,
                 (select max(newest.number) from webhook_replays newest where newest.subscription_id = r.subscription_id) as newest
          from webhook_replays r where number = ${number}
        ), chosen as (
          -- Per status, so that each part is read in the order of its index.
          select next.* from replay r cross join unnest(r.statuses) as wanted (status)
          cross join lateral (
            select d.delivery_id, d.created_at from webhook_deliveries d
            where d.subscription_id = r.subscription_id and d.status = wanted.status and d.created_at <= r.until
              and (d.created_at, d.delivery_id) > (r.after_created_at, r.after_delivery_id)
              and (d.claimed_until is null or d.claimed_until <= ${now})
              and (d.replay_number is null or d.replay_number < ${number})
            order by d.created_at, d.delivery_id limit ${limit} for update of d skip locked
          ) as next
          order by next.created_at, next.delivery_id limit ${limit}
        ), pending as (
          update webhook_deliveries d
          set status = 'pending', attempt_count = 0, due_at = ${now}, next_retry_at = null, delivered_at = null,
              http_status_code = null, claim = null, claimed_until = null, updated_at = ${now}, replay_number = r.newest
          from replay r where d.delivery_id = any(array(select delivery_id from chosen))
        ), moved as (
          update webhook_replays r
          set after_created_at = last.created_at, after_delivery_id = last.delivery_id, visited_at = ${now}
          from (select created_at, delivery_id from chosen order by created_at desc, delivery_id desc limit 1) as last
          where r.number = ${number}
        )
        select count(*) as found from chosen`,
  );
  return found;
}

export async function deleteReplay(tx: Tx, number: number): Promise<void> {
  await tx.run('webhooks.replays.delete', sql`delete from webhook_replays where number = ${number}`);
}
