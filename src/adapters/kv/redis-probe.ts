/** Looks at the Redis servers once, without writing, for `countersign doctor`. The server itself uses redis.ts. */
import { Cluster, Redis } from 'ioredis';
import { redisAddressOf } from '../../kernel/config/server-urls.ts';
import { openRedis } from './redis-client.ts';

export interface RedisFacts {
  /** Undefined where the server does not allow INFO, as some hosted ones. */
  readonly version: string | undefined;
  readonly isReplica: boolean;
  readonly maxMemoryBytes: number;
  readonly evictionPolicy: string | undefined;
  /** Milliseconds of its clock and of ours at the answer, and the time that the answer took. */
  readonly time: number;
  readonly answeredAt: number;
  readonly roundTripMs: number;
}

/** The server, the primary that the sentinels name, or the primary of each shard. */
export async function probeRedis(url: string, timeoutMs: number): Promise<[RedisFacts, ...RedisFacts[]]> {
  const redis = openRedis(url, {
    connectTimeoutMs: timeoutMs,
    commandTimeoutMs: timeoutMs,
    retries: false,
  });
  // The reason of a failed connection is in the event; `connect` says only that it is closed.
  let reason: Error | undefined;
  // Of a server the first one, since a failed SELECT closes the connection; of a cluster the last, which sums up its nodes.
  redis.on('error', (error) => (reason = redis instanceof Cluster ? error : (reason ?? error)));
  redis.on('node error', (error) => (reason = error));
  try {
    await redis.connect();
    if (!(redis instanceof Cluster)) return [await readFacts(redis)];
    const [first, ...others] = await Promise.all(redis.nodes('master').map(readFacts));
    if (!first) throw new Error('the cluster names no primary');
    return [first, ...others];
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}

async function readFacts(redis: Redis): Promise<RedisFacts> {
  await redis.ping();
  const askedAt = performance.now();
  const [seconds, microseconds] = await redis.time();
  const roundTripMs = performance.now() - askedAt;
  const answeredAt = Date.now();
  const info = await redis.info().catch(() => '');
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return {
    version: field('redis_version'),
    isReplica: field('role') === 'slave',
    maxMemoryBytes: Number(field('maxmemory') ?? 0),
    evictionPolicy: field('maxmemory_policy'),
    time: Number(seconds) * 1_000 + Number(microseconds) / 1_000,
    answeredAt,
    roundTripMs,
  };
}

/** The sentinels that do not answer, or do not know the primary, with the reason. Empty without Sentinel. */
export async function findUnreachableSentinels(
  url: string,
  timeoutMs: number,
): Promise<{ address: string; reason: string }[]> {
  const address = redisAddressOf(url);
  if (address.kind !== 'sentinel') return [];
  const { sentinels, sentinelCredentials, name, tls } = address;
  const unreachable = await Promise.all(
    sentinels.map(async ({ host, port }) => {
      const redis = new Redis({
        host,
        port,
        ...sentinelCredentials,
        ...(tls && { tls: {} }),
        lazyConnect: true,
        enableOfflineQueue: false,
        enableReadyCheck: false,
        connectTimeout: timeoutMs,
        commandTimeout: timeoutMs,
        retryStrategy: () => null,
      });
      let reason: Error | undefined;
      redis.on('error', (error) => (reason = error));
      try {
        await redis.connect();
        const primary = await redis.call('SENTINEL', 'get-master-addr-by-name', name);
        return primary ? [] : [{ address: `${host}:${port}`, reason: `it does not know ${name}` }];
      } catch (error) {
        return [{ address: `${host}:${port}`, reason: (reason ?? (error as Error)).message }];
      } finally {
        redis.disconnect();
      }
    }),
  );
  return unreachable.flat();
}
