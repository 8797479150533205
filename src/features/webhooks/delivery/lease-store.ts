/**
 * The delivery table as a queue: each row is a job. A worker leases a job; the lease id is a fencing token, so a worker whose lease has
 * expired cannot overwrite the result of its successor. The columns are `claim` (lease id) and `claimed_until`.
 */
import { testEvent } from '../../../contract/events.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import { prepared, raw, type Sql, sql } from '../../../kernel/data/sql.ts';

export interface Job {
  readonly deliveryId: string;
  readonly subscriptionId: string;
  readonly organizationId: string;
  /** The agent that the event is about. */
  readonly agentId: string;
  readonly eventType: string;
  readonly payload: string;
  readonly attemptCount: number;
  readonly url: string;
  readonly sealedSecret: string;
  /** After a rotation: it signs too, until this time. */
  readonly sealedPreviousSecret: string | null;
  readonly previousSecretExpiresAt: string | null;
  /** The endpoint's last attempt failed. */
  readonly failing: boolean;
  readonly leaseId: string;
  /** Milliseconds. */
  readonly leaseExpiresAt: number;
}

export interface LeaseRequest {
  readonly now: number;
  readonly leaseExpiresAt: number;
  readonly leaseId: string;
  /** Jobs in all, and the part of them for failing endpoints. */
  readonly capacity: number;
  readonly failingCapacity: number;
  /** Jobs for each endpoint that is not in `endpoints`. */
  readonly perEndpoint: number;
  /** Endpoints for which this worker has leased jobs already: how many, and how many more it takes. */
  readonly endpoints: readonly { readonly id: string; readonly leased: number; readonly capacity: number }[];
  /** Jobs for each organization that is not in `organizations`. */
  readonly perOrganization: number;
  /** The part of these for its failing endpoints. */
  readonly failingPerOrganization: number;
  readonly organizations: readonly {
    readonly id: string;
    readonly capacity: number;
    readonly failingCapacity: number;
  }[];
}

/**
 * Leases due jobs round-robin: the first of each endpoint, then the second of each, so that no backlog delays other endpoints. A
 * failing endpoint gets one job at a time. Endpoints with open jobs are found by a skip scan of the index, so the cost does not
 * depend on the size of a backlog.
 */
export async function leaseDue(db: Queryable, request: LeaseRequest): Promise<Job[]> {
  const { endpoints, organizations, leaseId, leaseExpiresAt } = request;
  const now = new Date(request.now).toISOString();
  const until = new Date(leaseExpiresAt).toISOString();
  const rows = await db.many<Omit<Job, 'leaseId' | 'leaseExpiresAt'>>(
    'webhooks.lease',
    prepared(sql`
      with recursive ${openEndpoints}, endpoints as (
        select s.subscription_id, s.active, s.organization_id, s.url, s.signing_secret, s.previous_signing_secret,
               s.previous_secret_expires_at, s.failure_count, s.failure_count > 0 as failing,
               case when s.failure_count > 0 then greatest(0, 1 - coalesce(own.leased, 0))
                    else coalesce(own.capacity, ${request.perEndpoint}::int) end as capacity
        from open_endpoints e
        join webhook_subscriptions s on s.subscription_id = e.id and not s.halted
        left join unnest(${endpoints.map(({ id }) => id)}::uuid[], ${endpoints.map(({ leased }) => leased)}::int[],
                         ${endpoints.map(({ capacity }) => capacity)}::int[]) as own (id, leased, capacity) on own.id = e.id
      ), candidates as (
        select due.delivery_id, due.due_at, due.endpoint_rank, e.failing, e.failure_count, e.organization_id, e.url, e.signing_secret,
               e.previous_signing_secret, e.previous_secret_expires_at
        from endpoints e
        cross join lateral (
          select locked.delivery_id, locked.due_at, row_number() over (order by locked.due_at) as endpoint_rank
          from (${dueJobs(sql`e.active`, now)} union all ${dueJobs(sql`not e.active and ${isTest}`, now)}) as locked
        ) as due
      ), ranked as (
        -- Fewest failures first: endpoints that have failed for long and have a backlog must not block one that failed once.
        select *, row_number() over (partition by failing, organization_id order by endpoint_rank, failure_count, due_at)
                    as failing_organization_rank,
               row_number() over (partition by organization_id order by endpoint_rank, due_at) as organization_rank
        from candidates
      ), permitted as (
        select ranked.*,
               row_number() over (partition by failing order by failing_organization_rank, failure_count, due_at) as failing_rank
        from ranked
        left join unnest(${organizations.map(({ id }) => id)}::uuid[], ${organizations.map(({ capacity }) => capacity)}::int[],
                         ${organizations.map(({ failingCapacity }) => failingCapacity)}::int[])
          as own (id, capacity, failing_capacity) on own.id = organization_id
        where (not failing
               or failing_organization_rank <= coalesce(own.failing_capacity, ${request.failingPerOrganization}::int))
          and organization_rank <= coalesce(own.capacity, ${request.perOrganization}::int)
      ), chosen as (
        select * from permitted
        where not failing or failing_rank <= ${request.failingCapacity}::int
        order by endpoint_rank, due_at limit ${request.capacity}::int
      )
      update webhook_deliveries d set claim = ${leaseId}, claimed_until = ${until}
      from chosen c
      -- The first condition is redundant; it tells the planner that the rows are few. Without it, it may scan the whole table.
      where d.delivery_id = any(array(select delivery_id from chosen)) and d.delivery_id = c.delivery_id
      returning d.delivery_id as "deliveryId", d.subscription_id as "subscriptionId",
                c.organization_id as "organizationId", d.payload::json #>> '{data,agentId}' as "agentId",
                d.event_type as "eventType", d.payload,
                d.attempt_count as "attemptCount", c.url, c.signing_secret as "sealedSecret",
                c.previous_signing_secret as "sealedPreviousSecret",
                c.previous_secret_expires_at as "previousSecretExpiresAt", c.failing`),
  );
  return rows.map((row) => ({ ...row, leaseId, leaseExpiresAt }));
}

/** Endpoints with open jobs, by a skip scan of the index. */
const openEndpoints = sql`open_endpoints as (
        (select subscription_id as id from webhook_deliveries where due_at is not null order by 1 limit 1)
        union all
        select (select d.subscription_id from webhook_deliveries d
                where d.due_at is not null and d.subscription_id > e.id order by 1 limit 1)
        from open_endpoints e where e.id is not null
      )`;

/**
 * For how many seconds the oldest job has been due; 0 when none is. Receivers whose last attempt failed do not count: their jobs
 * wait for them, not for a worker.
 */
export async function findOldestDue(db: Queryable, now: number): Promise<number> {
  const { seconds } = await db.one<{ seconds: number }>(
    'webhooks.oldestDue',
    sql`with recursive ${openEndpoints}
        select coalesce(extract(epoch from ${new Date(now)}::timestamptz - min(oldest.due_at)), 0)::float8 as seconds
        from open_endpoints e
        join webhook_subscriptions s on s.subscription_id = e.id and s.active and not s.halted and s.failure_count = 0
        cross join lateral (
          select d.due_at from webhook_deliveries d
          where d.subscription_id = e.id and d.due_at <= ${new Date(now)} order by d.due_at limit 1
        ) as oldest`,
  );
  return seconds;
}

/** The next unleased jobs of an endpoint. It is used twice, so that the backlog of an inactive endpoint is not even read. */
const dueJobs = (condition: Sql, now: string) => sql`
  select * from (
   select d.delivery_id, d.due_at from webhook_deliveries d
   where ${condition} and d.subscription_id = e.subscription_id and d.due_at <= ${now}
     and (d.claimed_until is null or d.claimed_until <= ${now})
   order by d.due_at limit e.capacity for update of d skip locked) as first`;

/** A literal, not a parameter: a generic plan can use the partial index `webhook_deliveries_tests` only if it knows the value. */
const isTest = sql`d.event_type = '${raw(testEvent)}'`;

/** Leased jobs that were not started: any worker can lease them at once. */
export async function releaseLeases(db: Queryable, jobs: readonly Job[]): Promise<void> {
  await db.run(
    'webhooks.release',
    sql`update webhook_deliveries d set claim = null, claimed_until = null
        from unnest(${jobs.map(({ deliveryId }) => deliveryId)}::uuid[], ${jobs.map(({ leaseId }) => leaseId)}::uuid[])
             as released (id, lease_id)
        where d.delivery_id = released.id and d.claim = released.lease_id`,
  );
}
