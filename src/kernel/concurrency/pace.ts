/**
 * Paces background work in a process that also serves requests. The work is done in small portions. While many requests come, one portion
 * runs at a time, and after each the work rests for a multiple of the portion's duration, so that most of the time of the process and
 * of the database is left to requests, however slow the machine is. Otherwise portions run at once.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

export const nextTurn = (): Promise<void> => setImmediate();

export const rest = (milliseconds: number): Promise<void> => sleep(milliseconds);

/** Ends early when the signal aborts. */
export const restUntil = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal }).catch(() => {});

export interface ServedRequests {
  /** Requests that this process has received. */
  count: number;
}

/** Runs a portion when it may start. A portion must not wait for another one. */
export type Pace = <T>(portion: () => Promise<T>) => Promise<T>;

const restFactor = 3;
/** The rest after a portion, also after one that waited for a lock. */
const maxRestMs = 1_000;
/** In a window of one to two seconds: probes and a few calls do not slow the work down. */
const busyRequests = 10;
const windowMs = 1_000;

interface PaceDeps {
  readonly requests: ServedRequests;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
  pause(milliseconds: number): Promise<void>;
}

export function createPace({ requests, elapsed, pause }: PaceDeps): Pace {
  let window = { startedAt: elapsed(), count: requests.count };
  let wasBusy = false;
  let previous = Promise.resolve();

  /** In this window or the one before. */
  const isBusy = (): boolean => {
    const age = elapsed() - window.startedAt;
    const isBusyNow = age < 2 * windowMs && requests.count - window.count >= busyRequests;
    if (age >= windowMs) {
      wasBusy = isBusyNow;
      window = { startedAt: elapsed(), count: requests.count };
    }
    return isBusyNow || wasBusy;
  };

  return async (portion) => {
    if (!isBusy()) return portion();
    const { promise: rested, resolve: endRest } = Promise.withResolvers<void>();
    const turn = previous;
    previous = rested;
    await turn;
    const startedAt = elapsed();
    try {
      return await portion();
    } finally {
      const restMs = Math.min(maxRestMs, restFactor * (elapsed() - startedAt));
      void pause(isBusy() ? restMs : 0).then(endRest);
    }
  };
}
