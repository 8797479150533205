/** Failures that pass: the server is away or busy, or a rate window is full. What reads goes on by itself after them. */
import { ApiError } from './api-error.ts';

/** A rate window lasts a minute. A longer wait, such as for the plan's next day, is an error that the page shows. */
const longestWaitSeconds = 300;
const firstBackoffMs = 1_000;
const longestBackoffMs = 15_000;
/** Tabs that were refused at the same moment come back at different ones. */
const spreadMs = 500;

const awayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

const waitOf = (error: ApiError): number => error.retryAfterSeconds ?? 0;

/** No answer, or one that says that the server cannot answer now. */
export const isAway = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'NO_CONNECTION' || awayStatuses.has(error.status));

const isLimited = (error: unknown): boolean => error instanceof ApiError && error.status === 429;

/** Whether the same request may succeed after a while. */
export const passes = (error: unknown): error is ApiError =>
  (isAway(error) || isLimited(error)) && waitOf(error as ApiError) <= longestWaitSeconds;

/** Milliseconds until the next attempt, after `failures` earlier ones: what the server asks for, or a time that doubles. */
export function retryDelay(failures: number, error: unknown, random: number): number {
  const backoff = Math.min(longestBackoffMs, firstBackoffMs * 2 ** failures) * (0.5 + random / 2);
  const asked = error instanceof ApiError ? error.retryAfterSeconds : undefined;
  // A server that is away for longer than it says is not asked every second.
  return asked === undefined
    ? backoff
    : Math.max(asked * 1_000 + random * spreadMs, isAway(error) ? backoff : 0);
}
