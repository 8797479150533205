/**
 * Paces background work in a process that also serves requests. The work is done in small portions. While requests come, one portion
 * runs at a time, and after each the work rests for a multiple of the portion's duration, so that most of the time of the process and
 * of the database is left to requests, however slow the machine is. Without requests portions run at once.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

export const nextTurn = (): Promise<void> => setImmediate();

export const rest = (milliseconds: number): Promise<void> => sleep(milliseconds);

export interface ServedRequests {
  /** Requests that this process has received. */
  count: number;
}

/** Runs a portion when it may start. A portion must not wait for another one. */
export type Pace = <T>(portion: () => Promise<T>) => Promise<T>;

const restFactor = 3;
/** A portion that had to wait, for example for a lock, delays the others no longer than this. */
const maxRestMs = 1_000;
/** The work rests as long as the last request is not older. */
const recentMs = 1_000;

export interface PaceDeps {
  readonly requests: ServedRequests;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
  pause(milliseconds: number): Promise<void>;
}

export function createPace({ requests, elapsed, pause }: PaceDeps): Pace {
  let seen = requests.count;
  let seenAt = Number.NEGATIVE_INFINITY;
  let previous = Promise.resolve();

  const isServing = (): boolean => {
    if (requests.count !== seen) {
      seen = requests.count;
      seenAt = elapsed();
    }
    return elapsed() - seenAt <= recentMs;
  };

  return async (portion) => {
    if (!isServing()) return portion();
    const { promise: rested, resolve: endRest } = Promise.withResolvers<void>();
    const turn = previous;
    previous = rested;
    await turn;
    const startedAt = elapsed();
    try {
      return await portion();
    } finally {
      const restMs = Math.min(maxRestMs, restFactor * (elapsed() - startedAt));
      void pause(isServing() ? restMs : 0).then(endRest);
    }
  };
}
