/**
 * Makes the deliveries of events soon after their commit. The process that has committed an event starts it. A loop in every process
 * finds the events that a killed process has left. Not in the event's own transaction: there each subscription would make the commit
 * longer, for all organizations of the batch.
 */
import type { Pace } from '../../../kernel/concurrency/pace.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { Log } from '../../../kernel/observability/log.ts';
import { fanOut, hasEvents } from './outbox-store.ts';

export interface FanOut {
  /** Returns at once. Events that are committed before the next pass share it. */
  soon(): void;
  /** One pass at once; the rest follows soon. */
  round(): Promise<void>;
  /** Before a list of deliveries: makes those of the organization's committed events, unless its backlog is long. */
  catchUp(organizationId: string): Promise<void>;
  /** Makes the deliveries of all committed events. Pauses only while another process has the lock. */
  drain(): Promise<void>;
}

const intervalMs = 50;
/** The pause after a pass, as a multiple of its duration: a large backlog leaves most of the database's time to requests of all processes. */
const pauseFactor = 3;
/** Between tries for a lock that another session holds; the first is `intervalMs`, and each is twice the one before. */
const maxRetryMs = 1_600;
/** Passes that a list of deliveries waits for. */
const maxCatchUp = 5;

interface FanOutDeps {
  readonly db: Db;
  readonly log: Log;
  readonly pace: Pace;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
  pause(milliseconds: number): Promise<void>;
}

export function createFanOut({ db, log, pace, elapsed, pause }: FanOutDeps): FanOut {
  let requested = false;
  let running = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  /** The pause after the next try that does not get the lock. */
  let retryMs = intervalMs;

  /** Whether another pass may find events: also when another process holds the lock, because it may have read before the last commit. */
  const pass = async (): Promise<boolean> => {
    const startedAt = elapsed();
    let minPauseMs = intervalMs;
    try {
      const { isLocked, hasMore } = await fanOut(db);
      if (!isLocked) minPauseMs = retryMs;
      retryMs = isLocked ? intervalMs : Math.min(retryMs * 2, maxRetryMs);
      return !isLocked || hasMore;
    } finally {
      const tookMs = elapsed() - startedAt;
      pausedUntil = startedAt + Math.max(minPauseMs, tookMs * (1 + pauseFactor));
    }
  };

  const untilPauseEnds = async () => {
    const waitMs = pausedUntil - elapsed();
    if (waitMs > 0) await pause(waitMs);
  };

  const run = async () => {
    running = true;
    try {
      while (requested) {
        await untilPauseEnds();
        requested = false;
        if (await pace(pass)) requested = true;
      }
    } catch (error) {
      log.debug({ err: error }, 'no deliveries made; the next round makes them');
    } finally {
      running = false;
    }
  };

  const soon = () => {
    requested = true;
    if (!running) void run();
  };

  return {
    soon,
    async round() {
      if (await pace(pass)) soon();
    },
    async catchUp(organizationId) {
      for (let passes = 0; passes < maxCatchUp; passes += 1) {
        if (!(await hasEvents(db, organizationId)) || !(await pass())) return;
        await pause(intervalMs);
      }
    },
    async drain() {
      while (await pass()) if (retryMs > intervalMs) await untilPauseEnds();
    },
  };
}
