/** Records the results of attempts: the delivery's status, the endpoint's failure count, the count of dead letters. */
import { limits } from '../../../contract/limits.ts';
import type { Db, Queryable, Tx } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import type { Attempt, Delivery } from '../schema.ts';
import type { Job } from './lease-store.ts';

export interface AttemptResult {
  readonly job: Job;
  readonly status: Exclude<Delivery['status'], 'pending'>;
  readonly nextRetryAt: string | null;
  readonly at: string;
  readonly attempt: Attempt;
  /** The cause of a failure for the operator's log; the subscriber may see less. */
  readonly reason: string | null;
}

/** In one transaction. Returns the ids of the deliveries that were still leased to this worker; the others are not changed. */
export const recordResults = (db: Db, results: readonly AttemptResult[]): Promise<Set<string>> =>
  db.transaction(async (tx) => {
    const rows = results.map(({ job, status, nextRetryAt, at, attempt }) => ({
      id: job.deliveryId,
      lease_id: job.leaseId,
      status,
      http: attempt.http_status_code,
      next: nextRetryAt,
      at,
      attempt,
    }));
    const updated = await tx.many<{ id: string }>(
      'webhooks.recordResults',
      prepared(sql`
        update webhook_deliveries d
        set status = r.status, http_status_code = r.http, attempt_count = d.attempt_count + 1, next_retry_at = r.next,
            due_at = r.next, delivered_at = case when r.status = 'delivered' then r.at end, claim = null,
            claimed_until = null, updated_at = r.at,
            attempts = case when jsonb_array_length(d.attempts) < ${limits.webhookAttemptsStored}::int then d.attempts
                            else d.attempts - 0 end || r.attempt
        from json_to_recordset(${JSON.stringify(rows)}::json)
          as r (id uuid, lease_id uuid, status text, http int, next timestamptz, at timestamptz, attempt jsonb)
        where d.delivery_id = r.id and d.claim = r.lease_id
        returning d.delivery_id as id`),
    );
    const recorded = new Set(updated.map(({ id }) => id));
    const recordedResults = results.filter(({ job }) => recorded.has(job.deliveryId));
    updateFailureCounts(tx, recordedResults);
    countDeadLetters(tx, recordedResults);
    return recorded;
  });

function updateFailureCounts(tx: Tx, results: readonly AttemptResult[]): void {
  const changes = failureCountChanges(results);
  if (changes.length === 0) return;
  tx.atCommit(
    'webhooks.countFailures',
    // Locked in the order of their ids, so that two workers do not deadlock.
    prepared(sql`
      with locked as (
        select s.subscription_id as id, c.reset, c.failures
        from json_to_recordset(${JSON.stringify(changes)}::json) as c (id uuid, reset boolean, failures int)
        join webhook_subscriptions s on s.subscription_id = c.id
        order by 1 for no key update of s
      )
      update webhook_subscriptions s
      set failure_count = case when l.reset then 0 else s.failure_count end + l.failures
      from locked l where s.subscription_id = l.id`),
  );
}

/** One change per endpoint, in the order of the attempts; none for endpoints that did not fail, before or now. */
function failureCountChanges(results: readonly AttemptResult[]) {
  const changes = new Map<string, { id: string; reset: boolean; failures: number }>();
  for (const { job, status } of results) {
    const id = job.subscriptionId;
    const change = changes.get(id) ?? { id, reset: false, failures: 0 };
    if (status !== 'delivered') changes.set(id, { ...change, failures: change.failures + 1 });
    else if (job.failing || change.failures > 0) changes.set(id, { id, reset: true, failures: 0 });
  }
  return [...changes.values()];
}

/** In the transaction that makes them dead letters: each is counted once, even when the process dies right after. */
function countDeadLetters(tx: Tx, results: readonly AttemptResult[]): void {
  const deadLetters = results.filter(({ status }) => status === 'dead_letter');
  if (deadLetters.length === 0) return;
  const types = JSON.stringify(deadLetters.map(({ job }) => job.eventType));
  tx.atCommit(
    'webhooks.countDeadLetters',
    // In the order of the key, so that two workers do not deadlock.
    prepared(sql`
      insert into webhook_dead_letters as stored (event_type, count)
      select type, count(*) from json_array_elements_text(${types}::json) as type
      group by type order by type
      on conflict (event_type) do update set count = stored.count + excluded.count`),
  );
}

/** Dead letters since this instance was installed, by event type. */
export const findDeadLetters = (db: Queryable): Promise<{ eventType: string; count: number }[]> =>
  db.many(
    'webhooks.deadLetters',
    sql`select event_type as "eventType", count from webhook_dead_letters order by event_type`,
  );
