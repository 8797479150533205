/** When a failed delivery is tried again: the schedule of the interface, counted from the attempt that failed. */
const minute = 60_000;
const hour = 60 * minute;

/** The pause before attempt 2, 3, … 10; the first is made at once. */
export const pauses: readonly number[] = [
  minute,
  5 * minute,
  15 * minute,
  hour,
  4 * hour,
  12 * hour,
  24 * hour,
  48 * hour,
  72 * hour,
];

/** Undefined when that was the last one. */
export function nextAttemptAt(attempt: number, failedAt: number, maxAttempts: number): number | undefined {
  const pause = pauses[attempt - 1];
  return pause === undefined || attempt >= maxAttempts ? undefined : failedAt + pause;
}
