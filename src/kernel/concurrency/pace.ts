/**
 * Paces background work in a process that also serves requests. The work is done in small portions, a portion in each turn of the event
 * loop. While requests come, the work rests after each turn for a multiple of the turn's duration, so that most of the main thread's time
 * is left to requests, however slow the machine is. Without requests it does not rest.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

export const nextTurn = (): Promise<void> => setImmediate();

/** The same for work that awaits its portions. */
export const rest = (milliseconds: number): Promise<void> => sleep(milliseconds);

export interface ServedRequests {
  /** Requests that this process has received. */
  count: number;
}

/** Calls `next` when the next portion may start. */
export type Pace = (next: () => void) => void;

const restFactor = 3;
/** The work rests as long as the last request is not older. */
const recentMs = 1_000;

export function createPace(requests: ServedRequests, elapsed: () => number): Pace {
  let seen = requests.count;
  let seenAt = Number.NEGATIVE_INFINITY;
  return async (next) => {
    const startedAt = elapsed();
    await nextTurn();
    const now = elapsed();
    if (requests.count !== seen) {
      seen = requests.count;
      seenAt = now;
    }
    if (now - seenAt <= recentMs) await rest(restFactor * (now - startedAt));
    next();
  };
}
