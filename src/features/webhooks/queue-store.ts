/** The deliveries as a queue: the row is the job. A claim is a lease with a number of its own, and fences off its predecessors. */
import { testEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import { prepared, raw, type Sql, sql } from '../../kernel/data/sql.ts';
import type { Attempt, Delivery } from './schema.ts';

export interface Job {
  readonly deliveryId: string;
  readonly subscriptionId: string;
  readonly organizationId: string;
  /** Whom the event is about. */
  readonly agentId: string;
  readonly eventType: string;
  readonly payload: string;
  readonly attemptCount: number;
  readonly url: string;
  readonly sealedSecret: string;
  /** Its receiver has failed since it last succeeded. */
  readonly failing: boolean;
  readonly claim: string;
  /** Milliseconds. */
  readonly claimedUntil: number;
}

export interface Want {
  readonly now: number;
  readonly claimedUntil: number;
  readonly claim: string;
  /** How many altogether, and how many of them for receivers that fail. */
  readonly room: number;
  readonly failingRoom: number;
  /** How many for each receiver that we hold nothing of. */
  readonly each: number;
  /** How many for each organization that we hold nothing of, and how many more for the others. */
  readonly eachOrganization: number;
  readonly organizations: readonly { readonly id: string; readonly room: number }[];
  /** The receivers that we hold something of, how much, and how much more we would take. */
  readonly lanes: readonly { readonly id: string; readonly held: number; readonly room: number }[];
}

/**
 * The next deliveries, in turns: the first of each receiver, then the second of each, so that nobody's backlog stands before
 * somebody else's news. Of a receiver that fails one is under way at a time. The receivers with something open are found by
 * skipping through the index, however much is open for each.
 */
export async function claimDue(db: Queryable, want: Want): Promise<Job[]> {
  const { lanes, organizations, claim } = want;
  const now = new Date(want.now).toISOString();
  const until = new Date(want.claimedUntil).toISOString();
  const rows = await db.many<Omit<Job, 'claim' | 'claimedUntil'>>(
    'webhooks.claim',
    prepared(sql`
      with recursive open_lanes as (
        (select subscription_id as id from webhook_deliveries where due_at is not null order by 1 limit 1)
        union all
        select (select d.subscription_id from webhook_deliveries d
                where d.due_at is not null and d.subscription_id > l.id order by 1 limit 1)
        from open_lanes l where l.id is not null
      ), lanes as (
        select s.subscription_id, s.active, s.organization_id, s.url, s.signing_secret, s.failure_count, s.failure_count > 0 as failing,
               case when s.failure_count > 0 then greatest(0, 1 - coalesce(ours.held, 0))
                    else coalesce(ours.room, ${want.each}::int) end as room
        from open_lanes l
        join webhook_subscriptions s on s.subscription_id = l.id and not s.halted
        left join unnest(${lanes.map(({ id }) => id)}::uuid[], ${lanes.map(({ held }) => held)}::int[],
                         ${lanes.map(({ room }) => room)}::int[]) as ours (id, held, room) on ours.id = l.id
      ), next_of_each as (
        select due.delivery_id, due.due_at, due.place, l.failing, l.failure_count, l.organization_id, l.url, l.signing_secret
        from lanes l
        cross join lateral (
          select locked.delivery_id, locked.due_at, row_number() over (order by locked.due_at) as place
          from (${firstOf(sql`l.active`, now)} union all ${firstOf(sql`not l.active and ${isTest}`, now)}) as locked
        ) as due
      ), ranked as (
        -- Who has failed least often comes first: long dead ones with a backlog must not keep out who failed once.
        select *, row_number() over (partition by failing order by place, failure_count, due_at) as turn,
               row_number() over (partition by organization_id order by place, due_at) as turn_at_home
        from next_of_each
      ), chosen as (
        select ranked.* from ranked
        left join unnest(${organizations.map(({ id }) => id)}::uuid[], ${organizations.map(({ room }) => room)}::int[])
          as theirs (id, room) on theirs.id = organization_id
        where (not failing or turn <= ${want.failingRoom}::int)
          and turn_at_home <= coalesce(theirs.room, ${want.eachOrganization}::int)
        order by place, due_at limit ${want.room}::int
      )
      update webhook_deliveries d set claim = ${claim}, claimed_until = ${until}
      from chosen c
      -- The first condition says nothing new, but that they are few: otherwise the whole table may be read for them.
      where d.delivery_id = any(array(select delivery_id from chosen)) and d.delivery_id = c.delivery_id
      returning d.delivery_id as "deliveryId", d.subscription_id as "subscriptionId",
                c.organization_id as "organizationId", d.payload::json #>> '{data,agentId}' as "agentId",
                d.event_type as "eventType", d.payload,
                d.attempt_count as "attemptCount", c.url, c.signing_secret as "sealedSecret", c.failing`),
  );
  return rows.map((row) => ({ ...row, claim, claimedUntil: want.claimedUntil }));
}

/** The next of a lane that nobody holds. Two branches, so that what waits for an inactive receiver is not even looked at. */
const firstOf = (which: Sql, now: string) => sql`
  select * from (
   select d.delivery_id, d.due_at from webhook_deliveries d
   where ${which} and d.subscription_id = l.subscription_id and d.due_at <= ${now}
     and (d.claimed_until is null or d.claimed_until <= ${now})
   order by d.due_at limit l.room for update of d skip locked) as first`;

/** As text: the index `webhook_deliveries_tests` is of no use to a plan that does not know the value. */
const isTest = sql`d.event_type = '${raw(testEvent)}'`;

export interface Settlement {
  readonly job: Job;
  readonly status: Exclude<Delivery['status'], 'pending'>;
  readonly nextRetryAt: string | null;
  readonly at: string;
  readonly attempt: Attempt;
  /** What the operator's log says of a failure, where the subscriber is told less. */
  readonly reason: string | null;
}

/** Writes down what became of these, in one transaction; answers which of them were still ours to settle. */
export const settleAll = (db: Db, settlements: readonly Settlement[]): Promise<Set<string>> =>
  db.transaction(async (tx) => {
    const told = settlements.map(({ job, status, nextRetryAt, at, attempt }) => ({
      id: job.deliveryId,
      claim: job.claim,
      status,
      http: attempt.http_status_code,
      next: nextRetryAt,
      at,
      attempt,
    }));
    const settled = await tx.many<{ id: string }>(
      'webhooks.settle',
      prepared(sql`
        update webhook_deliveries d
        set status = t.status, http_status_code = t.http, attempt_count = d.attempt_count + 1, next_retry_at = t.next,
            due_at = t.next, delivered_at = case when t.status = 'delivered' then t.at end, claim = null,
            claimed_until = null, updated_at = t.at,
            attempts = case when jsonb_array_length(d.attempts) < ${limits.webhookAttemptsStored}::int then d.attempts
                            else d.attempts - 0 end || t.attempt
        from json_to_recordset(${JSON.stringify(told)}::json)
          as t (id uuid, claim uuid, status text, http int, next timestamptz, at timestamptz, attempt jsonb)
        where d.delivery_id = t.id and d.claim = t.claim
        returning d.delivery_id as id`),
    );
    const ours = new Set(settled.map(({ id }) => id));
    const settlementsOfOurs = settlements.filter(({ job }) => ours.has(job.deliveryId));
    const counts = failureCounts(settlementsOfOurs);
    if (counts.length > 0) {
      tx.atCommit(
        'webhooks.countFailures',
        // In order, so that two workers do not wait for each other.
        prepared(sql`
          with held as (
            select s.subscription_id as id, t.reset, t.more
            from json_to_recordset(${JSON.stringify(counts)}::json) as t (id uuid, reset boolean, more int)
            join webhook_subscriptions s on s.subscription_id = t.id
            order by 1 for no key update of s
          )
          update webhook_subscriptions s
          set failure_count = case when h.reset then 0 else s.failure_count end + h.more
          from held h where s.subscription_id = h.id`),
      );
    }
    countDeadLetters(tx, settlementsOfOurs);
    return ours;
  });

/** In the transaction that gives them up: a delivery is counted once, and nobody need be there to remember it. */
function countDeadLetters(tx: Tx, settlements: readonly Settlement[]): void {
  const dead = settlements.filter(({ status }) => status === 'dead_letter');
  if (dead.length === 0) return;
  tx.atCommit(
    'webhooks.countDeadLetters',
    // In order, here too.
    prepared(sql`
      insert into webhook_dead_letters as known (event_type, count)
      select type, count(*) from json_array_elements_text(${JSON.stringify(dead.map(({ job }) => job.eventType))}::json) as type
      group by type order by type
      on conflict (event_type) do update set count = known.count + excluded.count`),
  );
}

/** What was given up since this instance began, by the type of the event. */
export const findDeadLetters = (db: Queryable): Promise<{ eventType: string; count: number }[]> =>
  db.many(
    'webhooks.deadLetters',
    sql`select event_type as "eventType", count from webhook_dead_letters order by event_type`,
  );

/** By receiver, in the order of what happened; nothing for those who have not failed before, nor now. */
function failureCounts(settlements: readonly Settlement[]) {
  const counts = new Map<string, { id: string; reset: boolean; more: number }>();
  for (const { job, status } of settlements) {
    const id = job.subscriptionId;
    const known = counts.get(id) ?? { id, reset: false, more: 0 };
    if (status !== 'delivered') counts.set(id, { ...known, more: known.more + 1 });
    else if (job.failing || known.more > 0) counts.set(id, { id, reset: true, more: 0 });
  }
  return [...counts.values()];
}

/** What was claimed and not begun goes back at once, to whoever comes first. */
export async function release(db: Queryable, jobs: readonly Job[]): Promise<void> {
  await db.run(
    'webhooks.release',
    sql`update webhook_deliveries d set claim = null, claimed_until = null
        from unnest(${jobs.map(({ deliveryId }) => deliveryId)}::uuid[], ${jobs.map(({ claim }) => claim)}::uuid[])
             as t (id, claim)
        where d.delivery_id = t.id and d.claim = t.claim`,
  );
}
