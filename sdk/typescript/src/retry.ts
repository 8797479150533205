/**
 * Sends a request again after 429, 503 and network errors, for a bounded time. A full rate window refuses before any work is done, so 429
 * is always safe. After 503 and network errors the work may be done already, so they are retried only if that does no harm.
 */
import { ApiError, ConnectionError } from './errors.ts';
import type { Platform } from './platform.ts';
import { discard, readError } from './response.ts';
import { unrefTimer } from './signals/unref.ts';

export interface RetryOptions {
  /** Requests at most, the first one included. 4 by default; 1 never retries. */
  readonly attempts?: number;
  /** All waits together. 65 by default: a rate window lasts a minute. */
  readonly maxWaitSeconds?: number;
  /** For one request. 30 by default. */
  readonly timeoutSeconds?: number;
}

export interface Attempt {
  /**
   * `always`: it does no harm that the work is done twice. `after-429`: nothing was done then. `never`: the body is a stream, which can be
   * sent once.
   */
  readonly repeat: 'always' | 'after-429' | 'never';
  readonly signal?: AbortSignal | undefined;
}

/** Sends the request once. The signal has the timeout. */
export type Send<T> = (signal: AbortSignal) => Promise<Outcome<T>>;

/** A result, or an answer (429 or 503) that a retry may improve. In the end it is an error, unless it has a result, too. */
export type Outcome<T> = { readonly result: T; readonly refused?: Response } | { readonly refused: Response };

export type Retry = <T>(attempt: Attempt, send: Send<T>) => Promise<T>;

const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Whether it does no harm that the work of a request is done twice. */
export const isRepeatable = (method: string, headers?: RequestInit['headers']): boolean =>
  repeatableMethods.has(method) || new Headers(headers).has('idempotency-key');

const defaults = { attempts: 4, maxWaitSeconds: 65, timeoutSeconds: 30 };
const firstBackoffMs = 250;
const longestBackoffMs = 8_000;

export function createRetry(platform: Platform, options: RetryOptions = {}): Retry {
  const { attempts, maxWaitSeconds, timeoutSeconds } = readOptions(options);

  return async ({ repeat, signal }, send) => {
    let waitedMs = 0;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const sent = await sendOnce(send, timeoutSeconds, signal);
      const { refused } = sent;
      if ('result' in sent && !refused) return sent.result;
      const mayRepeat = repeat === 'always' || (repeat === 'after-429' && refused?.status === 429);
      const asked = refused && waitOf(refused.headers, platform.now());
      const waitMs = asked ?? backoffMs(attempt, platform.random());
      if (!mayRepeat || attempt >= attempts || waitedMs + waitMs > maxWaitSeconds * 1000) {
        if ('result' in sent) return sent.result;
        throw asked === undefined ? sent.failure : withTime(sent.failure, asked, platform.now());
      }
      if (refused) discard(refused);
      await platform.sleep(waitMs, signal);
      waitedMs += waitMs;
    }
  };
}

function readOptions(options: RetryOptions): Required<RetryOptions> {
  const read = { ...defaults, ...options };
  if (!Number.isInteger(read.attempts) || read.attempts < 1)
    throw new TypeError('retry.attempts must be an integer of at least 1');
  if (!(read.maxWaitSeconds >= 0)) throw new TypeError('retry.maxWaitSeconds must not be negative');
  if (!(read.timeoutSeconds > 0)) throw new TypeError('retry.timeoutSeconds must be more than 0');
  return read;
}

type Sent<T> =
  | { readonly result: T; readonly refused?: Response }
  | { readonly failure: Error; readonly refused?: Response };

/** A refusal or a network error is a failure; the caller's own abort and other errors are thrown. */
async function sendOnce<T>(
  send: Send<T>,
  timeoutSeconds: number,
  signal: AbortSignal | undefined,
): Promise<Sent<T>> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutSeconds * 1000);
  // The request itself keeps a program running.
  unrefTimer(timer);
  try {
    const outcome = await send(signal ? eitherOf(signal, timeout.signal) : timeout.signal);
    if ('result' in outcome) return outcome;
    return { failure: await readError(outcome.refused), refused: outcome.refused };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ApiError || error instanceof ConnectionError) throw error;
    if (timeout.signal.aborted)
      return { failure: new ConnectionError('timeout', `no answer within ${timeoutSeconds} s`, error) };
    if (error instanceof TypeError) return { failure: unreachable(error) };
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Node.js 20.0 to 20.2 have no AbortSignal.any. */
export function eitherOf(...signals: readonly AbortSignal[]): AbortSignal {
  if (typeof AbortSignal.any === 'function') return AbortSignal.any([...signals]);
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    signal.addEventListener('abort', () => either.abort(signal.reason), { once: true });
  }
  return either.signal;
}

/** fetch throws TypeError for every network error, with the reason as its cause. */
const unreachable = (error: TypeError): ConnectionError => {
  const { cause } = error;
  const reason = cause instanceof Error && cause.message ? cause.message : error.message;
  return new ConnectionError('unreachable', `the server cannot be reached: ${reason}`, error);
};

/** Between a half and the whole of a time that doubles. */
const backoffMs = (attempt: number, random: number): number =>
  Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempt - 1)) * (0.5 + random / 2);

/** Milliseconds, from Retry-After (seconds or a date) or X-RateLimit-Reset (a time in seconds). */
export function waitOf(headers: Headers, now: number): number | undefined {
  const retryAfter = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,12}$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const date = /^[A-Z][a-z]{2,8}, /.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  const reset = headers.get('x-ratelimit-reset')?.trim() ?? '';
  const until = Number.isNaN(date) && /^\d{1,12}$/.test(reset) ? Number(reset) * 1000 : date;
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}

/** The same failure, which also says when the request may be sent again. */
function withTime(failure: Error, waitMs: number, now: number): Error {
  const time = new Date(Math.min(now + waitMs, 8.64e15)).toISOString();
  failure.message += `; try again after ${time}`;
  return failure instanceof ApiError
    ? Object.assign(failure, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
    : failure;
}
