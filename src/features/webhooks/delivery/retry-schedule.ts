/** The retry schedule of the spec. Each delay counts from the attempt that failed. */
const minute = 60_000;
const hour = 60 * minute;

/** The delay before attempts 2, 3, … 10; the first is made at once. */
export const retryDelays: readonly number[] = [
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

/** Undefined after the last attempt. */
export function nextAttemptAt(attempt: number, failedAt: number, maxAttempts: number): number | undefined {
  const delay = retryDelays[attempt - 1];
  return delay === undefined || attempt >= maxAttempts ? undefined : failedAt + delay;
}
