/** Failures of a moment: the server is unavailable or busy, or a rate window is full. Reads continue after them. */
import { waitOf } from '../../../sdk/typescript/src/request-loop.ts';
import { ApiError } from './api-error.ts';

/** A rate window lasts a minute. A longer wait, such as for the plan's next day, is an error that the page shows. */
const longestWaitSeconds = 300;
const firstBackoffMs = 1_000;
const longestBackoffMs = 15_000;
/** Tabs that were refused at the same moment come back at different ones. */
const spreadMs = 500;

const awayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** From Retry-After or X-RateLimit-Reset. */
export function retryAfterSecondsOf(headers: Headers): number | undefined {
  const waitMs = waitOf(headers, Date.now());
  return waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000);
}

/** No answer, or one that says that the server cannot answer now. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'NO_CONNECTION' || awayStatuses.has(error.status));

const isLimited = (error: unknown): boolean => error instanceof ApiError && error.status === 429;

/** Whether the same request may succeed after a while. */
export const isTransient = (error: unknown): error is ApiError =>
  (isUnavailable(error) || isLimited(error)) &&
  ((error as ApiError).retryAfterSeconds ?? 0) <= longestWaitSeconds;

/** Milliseconds until the next attempt, after `failures` earlier ones: what the server asks for, or a time that doubles. */
export function retryDelay(failures: number, error: unknown, random: number): number {
  const backoff = Math.min(longestBackoffMs, firstBackoffMs * 2 ** failures) * (0.5 + random / 2);
  const asked = error instanceof ApiError ? error.retryAfterSeconds : undefined;
  // A server that is unavailable for longer than it says is not asked every second.
  return asked === undefined
    ? backoff
    : Math.max(asked * 1_000 + random * spreadMs, isUnavailable(error) ? backoff : 0);
}
