/** The clock is injected, so that a test can pass a week in a millisecond. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const isoTime = (clock: Clock): string => new Date(clock.now()).toISOString();
