/**
 * A fixed-window rate limiter: 60-second windows per subject, aligned to the clock's minutes so that all processes that share a store
 * agree on them. While the store is unavailable, each process counts its own requests.
 */
import { limits } from '../../contract/limits.ts';
import type { Clock } from '../clock.ts';
import { andThen, type MaybePromise } from '../concurrency/maybe-promise.ts';
import { type Kv, KvUnavailable } from '../ports/kv.ts';

export interface WindowState {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds at which the window resets. */
  readonly resetAt: number;
  readonly exceeded: boolean;
  readonly retryAfterSeconds: number;
}

export interface RateWindow {
  /** Counts one request against the subject. `perMinute` overrides the limit of the instance. */
  count(subject: string, perMinute?: number): MaybePromise<WindowState>;
  /** Reads the window without counting. `exceeded` means that the next request would be too many. `perMinute` as in `count`. */
  peek(subject: string, perMinute?: number): Promise<WindowState>;
  /** The state before the first request of a window; reads no store. */
  unused(): WindowState;
}

interface RateWindowDeps {
  readonly kv: Kv;
  /** Counts in this process while `kv` is unavailable. */
  readonly fallback: Kv;
  readonly clock: Clock;
  readonly perMinute: number;
}

export function createRateWindow({ kv, fallback, clock, perMinute }: RateWindowDeps): RateWindow {
  const windowMs = limits.rateWindowSeconds * 1000;

  const withFallback = <T>(work: (store: Kv) => MaybePromise<T>): MaybePromise<T> => {
    const result = work(kv);
    if (!(result instanceof Promise)) return result;
    return result.catch((error) => {
      if (!(error instanceof KvUnavailable)) throw error;
      return work(fallback);
    });
  };

  const stateAt = (now: number, limit: number, used: number, exceeded: boolean): WindowState => {
    const resetAt = (Math.floor(now / windowMs) + 1) * limits.rateWindowSeconds;
    return {
      limit,
      remaining: Math.max(0, limit - used),
      resetAt,
      exceeded,
      retryAfterSeconds: Math.max(1, Math.ceil(resetAt - now / 1000)),
    };
  };

  const keyAt = (now: number, subject: string) => `window:${Math.floor(now / windowMs)}:${subject}`;

  return {
    count(subject, limit = perMinute) {
      const now = clock.now();
      const key = keyAt(now, subject);
      const used = withFallback((store) => store.increment(key, { ttlMs: windowMs }));
      return andThen(used, (total) => stateAt(now, limit, total, total > limit));
    },
    async peek(subject, limit = perMinute) {
      const now = clock.now();
      const key = keyAt(now, subject);
      const used = Number((await withFallback((store) => store.get(key))) ?? 0);
      return stateAt(now, limit, used, used >= limit);
    },
    unused: () => stateAt(clock.now(), perMinute, 0, false),
  };
}
