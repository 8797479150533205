/**
 * Sends the notifications of one kind: leases those that are due, sends them, and ends or postpones each. A round does not wait for its
 * sends, so a slow receiver does not delay the others. When a process dies, its leases expire and another process sends the rows.
 */

import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import {
  endNotification,
  leaseNotifications,
  type NotificationJob,
  type NotificationKind,
  postponeNotification,
} from './notifications-store.ts';

/** `sent`: also when nothing is left to say. `refused`: the receiver does not want it. `failed`: it is tried again. */
export type SendResult =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string };

const second = 1_000;
const minute = 60 * second;
/** The delay before attempts 2, 3, … 8; the first is made at once. */
export const retryDelays: readonly number[] = [
  5 * second,
  15 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
];

/** In one process. Mail servers allow few connections of one client. */
const concurrency = {
  ping: { total: 20, perOrganization: 5 },
  mail: { total: 4, perOrganization: 2 },
} as const;
/** Longer than any send, with time to write the result. */
const leaseMs = 60 * second;
/** Shutdown waits this long for sends. The others are sent again when their leases expire. */
const shutdownGraceMs = 5 * second;

interface SenderDeps extends Pick<SharedDeps, 'db' | 'clock' | 'log'> {
  pause(milliseconds: number): Promise<void>;
}

export interface NotificationSender {
  readonly loop: Loop;
  /** Sends everything that is due now, and waits for the results. */
  drain(): Promise<void>;
}

export function createNotificationSender(
  { db, clock, log, pause }: SenderDeps,
  kind: NotificationKind,
  /** Takes less time than a lease. Throws only on a defect of ours. */
  send: (job: NotificationJob) => Promise<SendResult>,
): NotificationSender {
  const { total: maxSends, perOrganization } = concurrency[kind];
  const inFlight = new Map<Promise<void>, NotificationJob>();
  let wake = () => {};
  const isoAfter = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString();

  const settle = async (job: NotificationJob, result: SendResult) => {
    if (result.outcome === 'sent') return endNotification(db, job);
    const delay = retryDelays[job.attempts - 1];
    const next = result.outcome === 'refused' || delay === undefined ? undefined : isoAfter(delay);
    if (next !== undefined && next < job.expiresAt) return postponeNotification(db, job, next);
    const { approvalId, organizationId, attempts } = job;
    log.warn(
      { approvalId, organizationId, kind, attempts, reason: result.reason },
      'notification of an approval failed for the last time; it is dropped',
    );
    return endNotification(db, job);
  };

  const process = async (job: NotificationJob) => {
    try {
      await settle(job, await send(job));
    } catch (error) {
      log.error(
        { err: error, approvalId: job.approvalId, kind },
        'notification of an approval not completed; it is sent again',
      );
    }
  };

  const start = (job: NotificationJob) => {
    const sending = process(job);
    inFlight.set(sending, job);
    void sending.finally(() => {
      // The round left some out for want of room.
      const wasFull = inFlight.size >= maxSends || busyOrganizations().includes(job.organizationId);
      inFlight.delete(sending);
      if (wasFull) wake();
    });
  };

  const busyOrganizations = (): string[] => {
    const counts = Map.groupBy(inFlight.values(), ({ organizationId }) => organizationId);
    return [...counts].flatMap(([id, jobs]) => (jobs.length >= perOrganization ? [id] : []));
  };

  const round = async (): Promise<number> => {
    const capacity = maxSends - inFlight.size;
    if (capacity <= 0) return 0;
    const jobs = await leaseNotifications(db, {
      kind,
      now: isoAfter(0),
      leaseExpiresAt: isoAfter(leaseMs),
      capacity,
      perOrganization,
      except: busyOrganizations(),
    });
    for (const job of jobs) start(job);
    return jobs.length;
  };

  return {
    loop: {
      name: `approvals-${kind}`,
      everyMs: second,
      async run() {
        await round();
      },
      begin(wakeLoop) {
        wake = wakeLoop;
        return async () => {
          wake = () => {};
          await Promise.race([Promise.all(inFlight.keys()), pause(shutdownGraceMs)]);
        };
      },
    },
    async drain() {
      while ((await round()) > 0 || inFlight.size > 0) await Promise.all(inFlight.keys());
    },
  };
}
