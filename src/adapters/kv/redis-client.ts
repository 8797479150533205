/** Opens the ioredis client for the topology that REDIS_URL names: one server, Sentinel or Redis Cluster. */
import { Cluster, Command, Redis } from 'ioredis';
import { type RedisAddress, redisAddressOf } from '../../kernel/config/server-urls.ts';

export type RedisClient = Redis | Cluster;

type SentinelAddress = RedisAddress & { kind: 'sentinel' };
type ClusterAddress = RedisAddress & { kind: 'cluster' };

/** `retries`: keeps the connection open and opens it again; without, the first failure is final. */
export interface ClientOptions {
  readonly keyPrefix?: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly retries: boolean;
}

export function openRedis(url: string, options: ClientOptions): RedisClient {
  const address = redisAddressOf(url);
  if (address.kind === 'memory') throw new Error('memory:// names no Redis server');
  if (address.kind === 'cluster') return openCluster(address, options);
  const shared = { ...sharedOptions(options), ...reconnection(options) };
  const redis =
    address.kind === 'server'
      ? new Redis(address.url, shared)
      : new Redis({ ...shared, ...sentinelOptions(address, options) });
  redis.on('error', (error) => closeOnFailedSelect(redis, error));
  return redis;
}

/**
 * The driver only reports a failed SELECT (no such database, no permission), and would go on in database 0. The connection is
 * closed before it can become ready, as after a refused password.
 */
function closeOnFailedSelect(redis: Redis, error: Error & { command?: { name?: string } }): void {
  if (error.command?.name === 'select') redis.stream.destroy();
}

const sharedOptions = ({ keyPrefix = '', connectTimeoutMs, commandTimeoutMs }: ClientOptions) => ({
  keyPrefix,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: connectTimeoutMs,
  commandTimeout: commandTimeoutMs,
});

const retryDelayMs = (attempt: number) => Math.min(attempt * 100, 2_000);

const reconnection = ({ retries }: ClientOptions) => ({
  lazyConnect: !retries,
  retryStrategy: retries ? retryDelayMs : () => null,
  // After a failover the old connection leads to a replica; a new one may reach the primary.
  reconnectOnError: retries ? ({ message }: Error) => /\bREADONLY\b/.test(message) : null,
});

const sentinelOptions = (
  { sentinels, sentinelCredentials, name, db, tls, username, password }: SentinelAddress,
  { commandTimeoutMs, retries }: ClientOptions,
) => ({
  sentinels: [...sentinels],
  name,
  db,
  ...(username && { username }),
  ...(password && { password }),
  ...(sentinelCredentials.username && { sentinelUsername: sentinelCredentials.username }),
  ...(sentinelCredentials.password && { sentinelPassword: sentinelCredentials.password }),
  ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  sentinelCommandTimeout: commandTimeoutMs,
  sentinelRetryStrategy: retries ? retryDelayMs : () => null,
});

const keepName = (name: string, callback: (error: null, address: string) => void) => callback(null, name);

function openCluster({ nodes, tls, username, password }: ClusterAddress, options: ClientOptions): Cluster {
  const { keyPrefix, enableOfflineQueue, ...redisOptions } = sharedOptions(options);
  return new Cluster([...nodes], {
    keyPrefix,
    enableOfflineQueue,
    lazyConnect: !options.retries,
    clusterRetryStrategy: options.retries ? retryDelayMs : () => null,
    // A frozen node answers with no MOVED error, so the shards are also read at an interval.
    slotsRefreshInterval: 2_000,
    slotsRefreshTimeout: options.connectTimeoutMs,
    // Of one command: MOVED and ASK are followed at once, and two other retries wait 100 ms each. The caller waits 250 ms.
    maxRedirections: 4,
    // Certificates are for names: a name must not be replaced by its address.
    ...(tls && { dnsLookup: keepName }),
    redisOptions: {
      ...redisOptions,
      ...(username && { username }),
      ...(password && { password }),
      ...(tls && { tls: {} }),
    },
  });
}

/** More than enough to find one for each shard, unless a shard has almost no slots. */
const maxKeysTried = 4_096;

/**
 * Names of keys, `<prefix>0`, `<prefix>1` …, of which each shard owns one. A write to all of them shows that every shard accepts
 * writes.
 */
export function keysOfAllShards(cluster: Cluster, prefix: string): string[] {
  const primaries = new Set(cluster.slots.map((nodes) => nodes?.[0]));
  const keys: string[] = [];
  for (let number = 0; primaries.size > 0 && number < maxKeysTried; number += 1) {
    const key = `${prefix}${number}`;
    const { keyPrefix = '' } = cluster.options;
    const slot = new Command('get', [key], { keyPrefix }).getSlot();
    if (typeof slot === 'number' && primaries.delete(cluster.slots[slot]?.[0])) keys.push(key);
  }
  return keys;
}
