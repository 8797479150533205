/**
 * The worker: claims what is due, sends, settles. Rounds claim and begin; what they began goes on by itself, so that no
 * slow receiver holds up a round. A worker that dies loses nothing: its claims run out, and others take them up.
 */
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { createAttempt } from './attempt.ts';
import type { DeliveryDeps } from './deps.ts';
import { createLanes } from './lanes.ts';
import { claimDue, type Job, release, type Settlement, settleAll } from './queue-store.ts';

/** Between the end of a send and the end of its claim: time to write down what came of it. */
const marginMs = 15_000;
/** How long what is being sent may take when we are asked to stop; the rest is sent again by others. */
const patienceMs = 5_000;

export interface Worker {
  /** Claims what is due and begins to send it; answers how much that was. */
  round(): Promise<number>;
  /** Rounds, until nothing is due and all is settled. */
  drain(): Promise<void>;
  /** Calls back when another round would find something. */
  onRoom(wake: () => void): void;
  stop(): Promise<void>;
}

export function createWorker(deps: DeliveryDeps): Worker {
  const { db, clock, ids, log, settings, countDelivery } = deps;
  const tryOnce = createAttempt(deps);
  const lanes = createLanes(settings.concurrency);
  const underWay = new Set<Promise<void>>();
  let stopping = false;
  /** What is still under way is cut off, and says nothing about its receiver. */
  let abandoned = false;
  let wake = () => {};

  const settle = createBatcher({
    run: async (settlements: readonly Settlement[]) => {
      const ours = await settleAll(db, settlements);
      return settlements.map(({ job }) => ours.has(job.deliveryId));
    },
    maxBatch: 100,
    concurrency: 2,
    maxQueue: Number.POSITIVE_INFINITY,
  });

  const tell = ({ job, status, attempt, reason }: Settlement, wasOurs: boolean) => {
    const { deliveryId, organizationId, agentId } = job;
    if (!wasOurs) return log.info({ deliveryId }, 'a delivery was taken up by another worker meanwhile');
    if (status === 'delivered') countDelivery(organizationId, agentId);
    if (status === 'dead_letter') {
      const { subscriptionId, eventType, attemptCount } = job;
      // Of the address no more than this: path and query may be what the receiver knows us by.
      const receiver = new URL(job.url).origin;
      const outcome = { httpStatus: attempt.http_status_code, reason };
      log.warn(
        {
          deliveryId,
          subscriptionId,
          organizationId,
          eventType,
          receiver,
          attempts: attemptCount + 1,
          ...outcome,
        },
        'a webhook delivery was given up',
      );
    }
  };

  /** What has waited too long in its lane is left to whoever claims it next. */
  const isStale = (job: Job) => clock.now() > job.claimedUntil - settings.timeoutMs - marginMs / 2;

  /** The place is free for the next as soon as there is an answer. */
  const send = async (job: Job): Promise<Settlement | undefined> => {
    try {
      return isStale(job) ? undefined : await tryOnce(job);
    } finally {
      lanes.sent(job);
      startNext();
    }
  };

  /** What was claimed and not begun. Of a receiver that fails one is tried at a time; the rest waits where others can see it. */
  const putBack = async (jobs: readonly Job[]) => {
    if (jobs.length > 0) await release(db, jobs);
  };

  const perform = async (job: Job) => {
    try {
      const settlement = await send(job);
      if (!settlement || abandoned) return;
      if (settlement.status !== 'delivered') await putBack(lanes.unload(job.subscriptionId));
      tell(settlement, await settle(settlement));
    } catch (error) {
      if (!stopping)
        log.error(
          { err: error, deliveryId: job.deliveryId },
          'a delivery could not be settled; it is sent again',
        );
    } finally {
      if (lanes.settled(job, clock.now())) wake();
    }
  };

  const startNext = () => {
    if (stopping) return;
    for (const job of lanes.next()) {
      const performed = perform(job);
      underWay.add(performed);
      performed.finally(() => underWay.delete(performed));
    }
  };

  const round = async () => {
    const want = lanes.want();
    if (stopping || want.room <= 0) return 0;
    const now = clock.now();
    const claimedUntil = now + settings.timeoutMs + marginMs;
    const jobs = await claimDue(db, { ...want, now, claimedUntil, claim: ids.uuid() });
    lanes.supply(want, jobs, now);
    startNext();
    return jobs.length;
  };

  return {
    round,
    async drain() {
      for (;;) {
        const claimed = await round();
        if (claimed === 0 && underWay.size === 0) return;
        await (claimed > 0 ? Promise.race(underWay) : Promise.all(underWay));
      }
    },
    onRoom(callback) {
      wake = callback;
    },
    async stop() {
      stopping = true;
      await putBack(lanes.unload());
      await Promise.race([Promise.all(underWay), deps.pause(patienceMs)]);
      abandoned = true;
    },
  };
}
