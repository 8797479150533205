/**
 * The delivery worker: leases due deliveries, sends them, records the results. A round leases and starts sends but does not wait
 * for them, so a slow endpoint does not delay a round. When a worker dies, its leases expire and another worker sends the jobs.
 */

import { createBatcher } from '../../../kernel/concurrency/batcher.ts';
import { nextTurn, type Pace } from '../../../kernel/concurrency/pace.ts';
import type { DeliveryDeps } from '../feature.ts';
import { createAttempt } from './attempt.ts';
import { inDeliverySpan } from './delivery-span.ts';
import { createEndpointScheduler } from './endpoint-scheduler.ts';
import { type Job, leaseDue, releaseLeases } from './lease-store.ts';
import { createOrganizationOutcomes } from './organization-outcomes.ts';
import { type AttemptResult, recordResults } from './result-store.ts';

/** Between the timeout of a send and the end of its lease: time to record the result. */
const leaseMarginMs = 15_000;
/** Shutdown waits this long for sends in flight. The others are sent again when their leases expire. */
const shutdownGraceMs = 5_000;
/** Sends that start in one turn of the event loop: a request to the same process waits for one turn at most. */
const maxStartsPerTurn = 4;
/** Turns of one portion of paced work: starts must not be rarer than the leases and results that they share the pace with. */
const turnsPerPortion = 10;

export interface Worker {
  /** Leases due deliveries and starts to send them; returns how many. */
  round(): Promise<number>;
  /** Runs rounds until nothing is due and every result is recorded. */
  drain(): Promise<void>;
  /** `wake` is called when another round would find something to send. */
  onCapacity(wake: () => void): void;
  stop(): Promise<void>;
}

export function createWorker(deps: DeliveryDeps, pace: Pace): Worker {
  const { db, clock, ids, log, metrics, settings, countDelivery } = deps;
  const attempt = createAttempt(deps);
  const scheduler = createEndpointScheduler(settings.concurrency);
  const inFlight = new Set<Promise<void>>();
  let stopping = false;
  /** The shutdown grace is over: results of sends that are cut off now are not recorded. */
  let abandoned = false;
  let wake = () => {};
  let isStarting = false;

  const recordResult = createBatcher({
    name: 'webhooks.record-results',
    run: async (results: readonly AttemptResult[]) => {
      const recorded = await pace(() => recordResults(db, results));
      return results.map(({ job }) => recorded.has(job.deliveryId));
    },
    maxBatch: 100,
    concurrency: 2,
    maxQueue: Number.POSITIVE_INFINITY,
    metrics,
  });

  const attemptsThat = (outcome: AttemptResult['status']) =>
    metrics.counter('service_webhook_attempts_total', { outcome });
  // Exposed as 0 from the start, so that a rate shows the first one.
  const countAttempt = {
    delivered: attemptsThat('delivered'),
    failed: attemptsThat('failed'),
    dead_letter: attemptsThat('dead_letter'),
  } satisfies Record<AttemptResult['status'], unknown>;

  const outcomes = createOrganizationOutcomes(clock);
  for (const outcome of ['delivered', 'failed'] as const)
    metrics.gaugeFrom('service_webhook_organizations', () => outcomes.count(outcome), { outcome });

  const report = ({ job, status, attempt: { http_status_code }, reason }: AttemptResult) => {
    const { deliveryId, organizationId, agentId } = job;
    countAttempt[status]();
    outcomes.record(organizationId, status === 'delivered' ? 'delivered' : 'failed');
    if (status === 'delivered') countDelivery(organizationId, agentId);
    if (status === 'dead_letter') {
      const { subscriptionId, eventType, attemptCount } = job;
      log.warn(
        {
          deliveryId,
          subscriptionId,
          organizationId,
          eventType,
          // The origin only: path and query may be a secret of the receiver.
          receiver: new URL(job.url).origin,
          attempts: attemptCount + 1,
          httpStatus: http_status_code,
          reason,
        },
        'webhook delivery failed for the last time; it is now a dead letter',
      );
    }
  };

  /** A job that was queued for long: its lease could expire while it is sent. */
  const expiresTooSoon = (job: Job) =>
    clock.now() > job.leaseExpiresAt - settings.timeoutMs - leaseMarginMs / 2;

  /** Frees the slot as soon as the endpoint has answered, before the result is recorded. */
  const send = async (job: Job): Promise<AttemptResult | undefined> => {
    try {
      return expiresTooSoon(job) ? undefined : await attempt(job);
    } finally {
      scheduler.sent(job);
      startNext();
    }
  };

  const releaseAll = async (jobs: readonly Job[]) => {
    if (jobs.length > 0) await releaseLeases(db, jobs);
  };

  const deliver = async (job: Job) => {
    try {
      const result = await send(job);
      if (!result || abandoned) return;
      // A failing endpoint gets one job at a time: its other jobs go back to the database.
      if (result.status !== 'delivered') await releaseAll(scheduler.removeQueued(job.subscriptionId));
      if (await recordResult(result)) report(result);
      else log.info({ deliveryId: job.deliveryId }, 'delivery lease lost to another worker; result dropped');
    } catch (error) {
      if (!stopping)
        log.error(
          { err: error, deliveryId: job.deliveryId },
          'delivery result not recorded; the delivery is sent again',
        );
    } finally {
      if (scheduler.completed(job, clock.now())) wake();
    }
  };

  const startSome = (): number => {
    let started = 0;
    for (const job of scheduler.next()) {
      const delivery = inDeliverySpan(job, () => deliver(job));
      inFlight.add(delivery);
      delivery.finally(() => inFlight.delete(delivery));
      // A job that is not sent costs nothing.
      if (!expiresTooSoon(job)) started += 1;
      if (started === maxStartsPerTurn) break;
    }
    return started;
  };

  const startNext = () => {
    if (!stopping && !isStarting) void startAll();
  };

  const startAll = async () => {
    isStarting = true;
    while (isStarting)
      await pace(async () => {
        for (let turn = 0; turn < turnsPerPortion; turn += 1) {
          isStarting = !stopping && startSome() > 0;
          if (!isStarting) return;
          await nextTurn();
        }
      });
  };

  const lease = async (): Promise<number> => {
    const requested = scheduler.capacity();
    if (stopping || requested.capacity <= 0) return 0;
    const now = clock.now();
    const leaseExpiresAt = now + settings.timeoutMs + leaseMarginMs;
    const jobs = await leaseDue(db, { ...requested, now, leaseExpiresAt, leaseId: ids.uuid() });
    scheduler.enqueue(requested, jobs, now);
    return jobs.length;
  };

  const round = async () => {
    const leased = await pace(lease);
    startNext();
    return leased;
  };

  return {
    round,
    async drain() {
      for (;;) {
        const leased = await round();
        // Queued jobs start soon.
        while (isStarting) await nextTurn();
        if (leased === 0 && inFlight.size === 0) return;
        if (inFlight.size > 0) await (leased > 0 ? Promise.race(inFlight) : Promise.all(inFlight));
      }
    },
    onCapacity(callback) {
      wake = callback;
    },
    async stop() {
      stopping = true;
      await releaseAll(scheduler.removeQueued());
      await Promise.race([Promise.all(inFlight), deps.pause(shutdownGraceMs)]);
      abandoned = true;
    },
  };
}
