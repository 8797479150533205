/** Looks at a Redis server once, without writing, for `countersign doctor`. The server itself uses redis.ts. */
import { Redis } from 'ioredis';

export interface RedisFacts {
  /** Undefined where the server does not allow INFO, as some hosted ones. */
  readonly version: string | undefined;
  readonly isReplica: boolean;
  readonly maxMemoryBytes: number;
  readonly evictionPolicy: string | undefined;
  /** Milliseconds of its clock, and the time that the answer took. */
  readonly time: number;
  readonly roundTripMs: number;
}

export async function probeRedis(url: string, timeoutMs: number): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    retryStrategy: () => null,
  });
  // The reason of a failed connection is in the event; `connect` says only that it is closed.
  let reason: Error | undefined;
  redis.on('error', (error) => (reason = error));
  try {
    await redis.connect();
    await redis.ping();
    const askedAt = performance.now();
    const [seconds, microseconds] = await redis.time();
    const roundTripMs = performance.now() - askedAt;
    const info = await redis.info().catch(() => '');
    const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
    return {
      version: field('redis_version'),
      isReplica: field('role') === 'slave',
      maxMemoryBytes: Number(field('maxmemory') ?? 0),
      evictionPolicy: field('maxmemory_policy'),
      time: Number(seconds) * 1_000 + Number(microseconds) / 1_000,
      roundTripMs,
    };
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
