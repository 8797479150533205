/**
 * The key-value port: Redis (adapters/kv/redis.ts) or this process's memory (adapters/kv/memory-kv.ts), both held
 * to the same behaviour by adapters/kv/kv.test.ts. What is kept here is fast, shared and losable; truth is in SQL.
 */
import type { Metrics } from '../observability/metrics.ts';

export interface Kv {
  get(key: string): Promise<string | null>;
  getMany(keys: readonly string[]): Promise<(string | null)[]>;
  /** Answers whether it was stored: false only with `onlyIfAbsent`, when the key was there. */
  set(key: string, value: string, options: { ttlMs: number; onlyIfAbsent?: boolean }): Promise<boolean>;
  delete(key: string): Promise<void>;
  /** Adds to a counter that vanishes `ttlMs` after its first increment; answers the new value. */
  increment(key: string, options: { ttlMs: number; by?: number }): Promise<number>;
  /** Adds one to a counter that is there and below `atMost`; otherwise leaves it, and says why. */
  take(key: string, options: { max: number }): Promise<number | 'full' | 'absent'>;
  /** Brings a counter up to `to`, unless it is there already or above; a new one vanishes after `ttlMs`. */
  raise(key: string, to: number, options: { ttlMs: number }): Promise<void>;
  /** Throws KvAway unless the store can be written to now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Every method of the port, reading ones too, rejects with this, quickly, while the store cannot be reached or takes no writes. */
export class KvUnavailable extends Error {
  constructor(cause: unknown) {
    super(`key-value store unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'KvAway';
  }
}

/** Feeds `service_redis_command_duration_seconds`, whatever the adapter; refused commands count too. */
export function timedKv(kv: Kv, metrics: Metrics): Kv {
  const timed = async <T>(command: string, work: Promise<T>): Promise<T> => {
    const started = performance.now();
    try {
      return await work;
    } finally {
      metrics.observe(
        'service_redis_command_duration_seconds',
        { command },
        (performance.now() - started) / 1000,
      );
    }
  };
  return {
    get: (key) => timed('get', kv.get(key)),
    getMany: (keys) => timed('mget', kv.getMany(keys)),
    set: (key, value, options) => timed('set', kv.set(key, value, options)),
    delete: (key) => timed('del', kv.delete(key)),
    increment: (key, options) => timed('incr', kv.increment(key, options)),
    take: (key, options) => timed('take', kv.take(key, options)),
    raise: (key, to, options) => timed('raise', kv.raise(key, to, options)),
    ping: () => timed('ping', kv.ping()),
    close: () => kv.close(),
  };
}
