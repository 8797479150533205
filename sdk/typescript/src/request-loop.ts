/**
 * The loop of all requests: those of this SDK, of the command line and of the console. Each attempt has a time limit. After 429, 503 and
 * network errors the request is sent again, for a bounded time. A full rate window refuses before any work is done, so 429 is always safe.
 * After 503 and network errors the work may be done already, so they are retried only if that does no harm.
 */
import { ApiError, ConnectionError } from './errors.ts';
import type { Platform } from './platform.ts';
import { discard, originOf } from './response.ts';
import { unrefTimer } from './signals/unref.ts';

export interface RetryOptions {
  /** Requests at most, the first one included. 4 by default; 1 never retries. */
  readonly attempts?: number;
  /** All waits together. 65 by default: a rate window lasts a minute. */
  readonly maxWaitSeconds?: number;
  /** For one request. 30 by default. */
  readonly timeoutSeconds?: number;
}

interface LoopOptions extends RetryOptions {
  /** Called before each wait, with the answer of a server that is busy. */
  readonly onWait?: (seconds: number, busy: Response | undefined) => void;
}

/**
 * `always`: it does no harm that the work is done twice. `after-answer`: the same, but without a server the request fails at once.
 * `after-429`: nothing was done then. `never`: the body is a stream, which can be sent once.
 */
export type Repeat = 'always' | 'after-answer' | 'after-429' | 'never';

export interface LoopRequest {
  readonly url: string | URL;
  /** Called before each attempt: a server accepts an assertion once, and a token may have ended during a wait. */
  readonly init: () => RequestInit | Promise<RequestInit>;
  readonly repeat: Repeat;
  readonly signal?: AbortSignal | undefined;
  /** In place of the platform's, such as one with proofs (DPoP). */
  readonly fetch?: ((url: string | URL, init: RequestInit) => Promise<Response>) | undefined;
  /** Whether `init` has another credential in place of the one that the server refused with this answer. Used once. */
  readonly renew?: (response: Response) => boolean;
}

/** `read` gets the last answer, which may be a refusal. The time limit includes it. */
export type RequestLoop = <T>(request: LoopRequest, read: (response: Response) => Promise<T>) => Promise<T>;

const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Whether it does no harm that the work of a request is done twice. */
export const isRepeatable = (method: string, headers?: RequestInit['headers']): boolean =>
  repeatableMethods.has(method) || new Headers(headers).has('idempotency-key');

const defaults = { attempts: 4, maxWaitSeconds: 65, timeoutSeconds: 30 };
const firstBackoffMs = 250;
const longestBackoffMs = 8_000;

export function createRequestLoop(
  platform: Omit<Platform, 'elapsed'>,
  options: LoopOptions = {},
): RequestLoop {
  const { attempts, maxWaitSeconds, timeoutSeconds } = { ...defaults, ...options };

  return async ({ url, init, repeat, signal, fetch = platform.fetch, renew }, read) => {
    let waitedMs = 0;
    let isRenewed = false;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const request = await init();
      let busy: Response | undefined;
      /** What the server asks for. */
      let asked: number | undefined;
      /** Undefined: there is no further attempt. */
      const nextWait = (): number | undefined => {
        const waitMs = asked ?? backoffMs(attempt, platform.random());
        const hasTime = attempt < attempts && waitedMs + waitMs <= maxWaitSeconds * 1000;
        return hasTime && mayRepeat(repeat, busy?.status) ? waitMs : undefined;
      };
      let waitMs: number | undefined;
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), timeoutSeconds * 1000);
      // The request itself keeps a program running.
      unrefTimer(timer);
      try {
        const attemptSignal = signal ? eitherOf(signal, timeout.signal) : timeout.signal;
        const response = await fetch(url, { redirect: 'manual', ...request, signal: attemptSignal });
        if (renew?.(response) && !isRenewed) {
          isRenewed = true;
          discard(response);
          continue;
        }
        if (isBusy(response.status)) {
          busy = response;
          asked = waitOf(response.headers, platform.now());
          waitMs = nextWait();
        }
        if (waitMs === undefined) return await read(response);
        discard(response);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof ApiError && asked !== undefined) throw withTime(error, asked, platform.now());
        const failure = connectionErrorOf(error, url, timeout.signal.aborted && timeoutSeconds);
        waitMs = failure && nextWait();
        if (waitMs === undefined) throw failure ?? error;
      } finally {
        clearTimeout(timer);
      }
      options.onWait?.(Math.ceil(waitMs / 1000), busy);
      await platform.sleep(waitMs, signal);
      waitedMs += waitMs;
    }
  };
}

const mayRepeat = (repeat: Repeat, status: number | undefined): boolean =>
  repeat === 'always' ||
  (status === 429 && repeat !== 'never') ||
  (status !== undefined && repeat === 'after-answer');

/** For options that a program gives. */
export function readRetry(options: RetryOptions = {}): RetryOptions {
  const { attempts, maxWaitSeconds, timeoutSeconds } = { ...defaults, ...options };
  if (!Number.isInteger(attempts) || attempts < 1)
    throw new TypeError('retry.attempts must be an integer of at least 1');
  if (!(maxWaitSeconds >= 0)) throw new TypeError('retry.maxWaitSeconds must not be negative');
  if (!(timeoutSeconds > 0)) throw new TypeError('retry.timeoutSeconds must be more than 0');
  return options;
}

/** Undefined for other errors than a lost or late answer. fetch throws TypeError for every network error, with the reason as its cause. */
function connectionErrorOf(
  error: unknown,
  url: string | URL,
  timeoutSeconds: number | false,
): ConnectionError | undefined {
  if (error instanceof ApiError || error instanceof ConnectionError) return undefined;
  if (timeoutSeconds) return new ConnectionError('timeout', `no answer within ${timeoutSeconds} s`, error);
  if (!(error instanceof TypeError)) return undefined;
  const { message } = error;
  const reason = (error.cause as Partial<Error> | undefined)?.message || message;
  return new ConnectionError('unreachable', `cannot reach ${originOf({ url: `${url}` })}: ${reason}`, error);
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

export const isBusy = (status: number): boolean => status === 429 || status === 503;

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
  // Of the server's clock, which may differ from ours.
  const from = Date.parse(headers.get('date') ?? '') || now;
  return Number.isNaN(until) ? undefined : Math.max(0, until - from);
}

/** The same error, which also says when the request may be sent again. */
const withTime = (error: ApiError, waitMs: number, now: number): ApiError =>
  Object.assign(error, {
    message: error.message + tryAgain(waitMs, now),
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });

export const tryAgain = (waitMs: number, now: number): string =>
  `; try again after ${new Date(Math.min(now + waitMs, 8.64e15)).toISOString()}`;
