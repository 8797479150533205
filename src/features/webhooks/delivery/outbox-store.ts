/** The outbox: one row for each event with subscribers. `fanOut` moves rows to the deliveries; organizations take turns. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import type { Envelope } from '../../../kernel/delivery/envelope.ts';
import { channel } from './store.ts';

/**
 * One row for each event that an active subscription matches: one statement for a whole batch, pipelined with the commit.
 * The type `json` keeps the text of each envelope unchanged; this text is signed and sent.
 */
export function append(tx: Tx, envelopes: readonly Envelope[]): void {
  tx.atCommit(
    'webhooks.outbox',
    prepared(sql`
      with events as materialized (
        select number, event, (event ->> 'organizationId')::uuid as organization_id, event ->> 'type' as event_type
        from json_array_elements(${JSON.stringify(envelopes)}::json) with ordinality as appended (event, number)
      ), matching as materialized (
        select kind.organization_id, kind.event_type, array_agg(s.subscription_id) as subscription_ids
        from (select distinct organization_id, event_type from events) as kind
        join webhook_subscriptions s
          on s.organization_id = kind.organization_id and s.active and s.events && array['*', kind.event_type]
        group by 1, 2
      )
      insert into webhook_outbox (organization_id, event_id, event_type, payload, subscription_ids, occurred_at)
      select organization_id, (event ->> 'id')::uuid, event_type, event::text, subscription_ids,
             (event ->> 'timestamp')::timestamptz
      from events join matching using (organization_id, event_type) order by number`),
  );
}

/** Organizations with rows, by a skip scan of the primary key. */
const waitingOrganizations = sql`
  organizations as (
    (select organization_id as id from webhook_outbox order by 1 limit 1)
    union all
    select (select o.organization_id from webhook_outbox o where o.organization_id > e.id order by 1 limit 1)
    from organizations e where e.id is not null
  )`;

interface FanOutResult {
  /** False while another process makes deliveries. */
  readonly isLocked: boolean;
  readonly hasMore: boolean;
}

/** Of one pass, for all organizations. */
const maxDeliveries = 1_000;
/** Events of an organization that a pass reads at least. A pass with fewer events in all has left none. */
const minEvents = 10;

/**
 * The lock is a row that always exists: that of the migration which made the outbox. A row lock needs the privilege to update the
 * table. Every role that can connect could hold an advisory lock, and so stop all webhooks.
 */
const lockVersion = 38;

/**
 * Makes the deliveries of the oldest events, at most about `maxDeliveries`. Each organization gets the same number in turn, so that a backlog
 * delays only its own organization. A subscription that was deleted after the event gets no delivery. It is one statement: a process that
 * is killed or frozen loses and repeats nothing, and holds no lock. One runs at a time, so the deliveries of a subscription
 * are made in the order of its events.
 */
export const fanOut = (db: Queryable): Promise<FanOutResult> =>
  db.one(
    'webhooks.fanOut',
    prepared(sql`
      with recursive lock as materialized (
        select true as taken from schema_migrations where version = ${lockVersion}::int for update skip locked
      ), ${waitingOrganizations}, head as (
        select next.*, sum(next.size) over (partition by next.organization_id order by next.position) - next.size as turn
        from organizations e cross join lateral (
          select o.organization_id, o.position, cardinality(o.subscription_ids) as size from webhook_outbox o
          where o.organization_id = e.id
          order by o.position limit greatest(${minEvents}::int, ${maxDeliveries}::int / (select count(*) from organizations))
        ) as next
        where (select taken from lock)
      ), chosen as (
        select organization_id, position
        from (select *, sum(size) over (order by turn, position) - size as before from head) as ranked
        where before < ${maxDeliveries}::int
      ), moved as (
        delete from webhook_outbox o using chosen c
        where o.organization_id = c.organization_id and o.position = c.position
        returning o.event_id, o.event_type, o.payload, o.subscription_ids, o.occurred_at
      ), delivered as (
        insert into webhook_deliveries
          (delivery_id, subscription_id, event_id, event_type, payload, status, due_at, created_at, updated_at)
        select gen_random_uuid(), s.subscription_id, m.event_id, m.event_type, m.payload, 'pending', m.occurred_at,
               m.occurred_at, m.occurred_at
        from moved m join webhook_subscriptions s on s.subscription_id = any(m.subscription_ids)
        returning 1
      )
      select exists (select from lock) as "isLocked", (select count(*) from moved) >= ${minEvents}::int as "hasMore",
             case when exists (select from delivered) then pg_notify(${channel}::text, '') end as notified`),
  );

export async function hasEvents(db: Queryable, organizationId: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'webhooks.hasEvents',
    sql`select exists (select from webhook_outbox where organization_id = ${organizationId}) as found`,
  );
  return found;
}

/** For how many seconds the oldest event has waited; 0 when none does. */
export async function findOldestEvent(db: Queryable, now: number): Promise<number> {
  const { seconds } = await db.one<{ seconds: number }>(
    'webhooks.oldestEvent',
    sql`with recursive ${waitingOrganizations}
        select coalesce(extract(epoch from ${new Date(now)}::timestamptz - min(oldest.occurred_at)), 0)::float8 as seconds
        from organizations e cross join lateral (
          select o.occurred_at from webhook_outbox o where o.organization_id = e.id order by o.position limit 1
        ) as oldest`,
  );
  return seconds;
}
