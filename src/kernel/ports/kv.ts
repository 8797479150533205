/**
 * The key-value port: Redis (adapters/kv/redis.ts) or this process's memory (adapters/kv/memory-kv.ts), both tested by
 * adapters/kv/kv.test.ts. Its data is fast, shared and may be lost; PostgreSQL is the source of truth.
 */
import type { MaybePromise } from '../concurrency/maybe-promise.ts';
import type { Metrics } from '../observability/metrics.ts';
import { endWith, type SpanOptions, tracer } from '../observability/tracing.ts';

export interface Kv {
  get(key: string): Promise<string | null>;
  getMany(keys: readonly string[]): MaybePromise<(string | null)[]>;
  /** Returns false only with `onlyIfAbsent`, when the key existed. */
  set(key: string, value: string, options: { ttlMs: number; onlyIfAbsent?: boolean }): Promise<boolean>;
  delete(key: string): Promise<void>;
  /** Adds to a counter that expires `ttlMs` after its first increment; returns the new value. */
  increment(key: string, options: { ttlMs: number; by?: number }): MaybePromise<number>;
  /** Adds one to an existing counter below `max` and returns it; otherwise returns the reason and changes nothing. */
  take(key: string, options: { max: number }): Promise<number | 'full' | 'absent'>;
  /** Raises a counter to at least `to`; a new one expires after `ttlMs`. */
  raise(key: string, to: number, options: { ttlMs: number }): Promise<void>;
  /** Throws KvUnavailable unless the store accepts writes now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Every method rejects with this, quickly, while the store cannot be reached or accepts no writes. */
export class KvUnavailable extends Error {
  constructor(cause: unknown) {
    super(`key-value store unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'KvUnavailable';
  }
}

/** The fallback while the store is unavailable; other errors are thrown. */
export const unlessUnavailable = <T, Fallback>(
  result: Promise<T>,
  fallback: Fallback,
): Promise<T | Fallback> =>
  result.catch((error) => {
    if (!(error instanceof KvUnavailable)) throw error;
    return fallback;
  });

/** Neither keys nor values are recorded. */
const commandSpan: SpanOptions = { kind: 'client', attributes: { 'db.system.name': 'redis' } };

/**
 * Observes `service_redis_command_duration_seconds` for either adapter, failed commands included, and counts the failed ones. Commands
 * to Redis have a span.
 */
export function timedKv(kv: Kv, metrics: Metrics, { isRedis }: { isRedis: boolean }): Kv {
  const observe = (command: string, started: number) =>
    metrics.observe(
      'service_redis_command_duration_seconds',
      { command },
      (performance.now() - started) / 1000,
    );
  // Exposed as 0 from the start, so that a rate shows the first one.
  const errorsOf = (command: string) => metrics.counter('service_redis_errors_total', { command });
  const countError = {
    get: errorsOf('get'),
    mget: errorsOf('mget'),
    set: errorsOf('set'),
    del: errorsOf('del'),
    incr: errorsOf('incr'),
    take: errorsOf('take'),
    raise: errorsOf('raise'),
    ping: errorsOf('ping'),
  };
  type Command = keyof typeof countError;
  const timed = <T>(command: Command, work: Promise<T>): Promise<T> => {
    const started = performance.now();
    const span = isRedis ? tracer?.startChild(command, commandSpan) : undefined;
    return (span ? endWith(span, work) : work).then(
      (result) => {
        observe(command, started);
        return result;
      },
      (error) => {
        observe(command, started);
        countError[command]();
        throw error;
      },
    );
  };
  const timedMaybe = <T>(command: Command, started: number, work: MaybePromise<T>): MaybePromise<T> => {
    if (work instanceof Promise) return timed(command, work);
    observe(command, started);
    return work;
  };
  return {
    get: (key) => timed('get', kv.get(key)),
    getMany: (keys) => timedMaybe('mget', performance.now(), kv.getMany(keys)),
    set: (key, value, options) => timed('set', kv.set(key, value, options)),
    delete: (key) => timed('del', kv.delete(key)),
    increment: (key, options) => timedMaybe('incr', performance.now(), kv.increment(key, options)),
    take: (key, options) => timed('take', kv.take(key, options)),
    raise: (key, to, options) => timed('raise', kv.raise(key, to, options)),
    ping: () => timed('ping', kv.ping()),
    close: () => kv.close(),
  };
}
