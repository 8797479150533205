/** How much time has passed. */
import type { Platform } from './platform.ts';

/** Milliseconds since its start. */
export type Stopwatch = () => number;

/** The clock that says more counts: one can be set back, the other one may stand still while the computer sleeps. */
export function startStopwatch({ now, elapsed }: Pick<Platform, 'now' | 'elapsed'>): Stopwatch {
  const [time, steady] = [now(), elapsed()];
  return () => Math.max(0, now() - time, elapsed() - steady);
}
