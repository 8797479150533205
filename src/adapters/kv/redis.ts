/**
 * The key-value port on Redis. A dead or slow Redis must not delay a request: commands have a short timeout, and after the first
 * failure all commands fail at once until a heartbeat write succeeds (a circuit breaker).
 *
 * A Redis that accepts reads but no writes (full, a replica, unable to save) counts as unavailable: its values may be out of date,
 * since no process can write a change there. A Redis Cluster is available while all of its shards accept writes.
 *
 * Every command and script has one key, so that it works on a Redis Cluster, where keys are on different servers.
 */
import { once } from 'node:events';
import { Cluster } from 'ioredis';
import type { Log } from '../../kernel/observability/log.ts';
import { type Kv, KvUnavailable } from '../../kernel/ports/kv.ts';
import { keysOfAllShards, openRedis, type RedisClient } from './redis-client.ts';

const prefix = 'countersign:';
const commandTimeoutMs = 250;
/** How long the start of a process waits for the first connection. */
const firstConnectTimeoutMs = 1_000;
/** Interval of the heartbeat write. A process that only reads notices a failure within this time. */
const heartbeatMs = 1_000;
const heartbeatTtlMs = 10_000;
/** How long heartbeats fail on an open connection before it is opened again. */
const reconnectAfterMs = 3_000;

/** The command that creates a counter sets its expiry in the same step, so that no counter lives for ever. */
const incrementScript = `
local value = redis.call('INCRBY', KEYS[1], ARGV[1])
if value == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return value`;

/** -1: no such counter; -2: the counter is at its maximum. */
const takeScript = `
local value = redis.call('GET', KEYS[1])
if not value then return -1 end
if tonumber(value) >= tonumber(ARGV[1]) then return -2 end
return redis.call('INCR', KEYS[1])`;

const raiseScript = `
local value = redis.call('GET', KEYS[1])
if not value then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
elseif tonumber(value) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL') end
return 0`;

interface ScriptCommands {
  countersignIncrement(key: string, by: number, ttlMs: number): Promise<number>;
  countersignTake(key: string, max: number): Promise<number>;
  countersignRaise(key: string, to: number, ttlMs: number): Promise<number>;
}

/** Resolves when the first connection attempt has ended or timed out: the service starts and runs without Redis. */
export async function createRedisKv(url: string, log: Log): Promise<Kv> {
  const redis = openRedis(url, {
    keyPrefix: prefix,
    connectTimeoutMs: 2_000,
    // For the driver's own commands; ours have a shorter timeout.
    commandTimeoutMs: 2_000,
    retries: true,
  });
  redis.defineCommand('countersignIncrement', { numberOfKeys: 1, lua: incrementScript });
  redis.defineCommand('countersignTake', { numberOfKeys: 1, lua: takeScript });
  redis.defineCommand('countersignRaise', { numberOfKeys: 1, lua: raiseScript });
  const scripts = redis as unknown as ScriptCommands;

  const availability = createAvailability(log);
  const onFailure = (error: unknown) =>
    availability.markUnavailable(redis.status === 'ready' ? reasonOf(error) : 'not connected');
  redis.on('error', (error) => availability.markUnavailable(reasonOf(error)));
  // A command before the first connection would fail and mark an available Redis as unavailable.
  await firstConnection(redis);
  if (redis.status !== 'ready') availability.markUnavailable('not connected');

  const attempt = async <T>(command: () => Promise<T>): Promise<T> => {
    const reason = availability.unavailableReason();
    if (reason !== undefined) throw new KvUnavailable(reason);
    try {
      return await withTimeout(command());
    } catch (error) {
      if (concernsAllKeys(error)) onFailure(error);
      throw new KvUnavailable(error);
    }
  };
  const beat = createBeat(redis);
  /** Runs also while Redis is unavailable, to detect its recovery. */
  const heartbeat = async () => {
    const sentAt = performance.now();
    try {
      await beat();
    } catch (error) {
      onFailure(error);
      throw new KvUnavailable(error);
    }
    availability.markAvailable(sentAt);
  };
  const timer = setInterval(() => void heartbeat().catch(() => {}), heartbeatMs).unref();

  return {
    get: (key) => attempt(() => redis.get(key)),
    getMany: (keys) => (keys.length === 0 ? Promise.resolve([]) : attempt(() => getMany(redis, keys))),
    set: (key, value, { ttlMs, onlyIfAbsent }) =>
      attempt(async () => {
        const answer = onlyIfAbsent
          ? await redis.set(key, value, 'PX', ttlMs, 'NX')
          : await redis.set(key, value, 'PX', ttlMs);
        return answer === 'OK';
      }),
    delete: (key) =>
      attempt(async () => {
        await redis.del(key);
      }),
    increment: (key, { ttlMs, by = 1 }) => attempt(() => scripts.countersignIncrement(key, by, ttlMs)),
    take: (key, { max }) =>
      attempt(async () => {
        const value = await scripts.countersignTake(key, max);
        return value === -1 ? 'absent' : value === -2 ? 'full' : value;
      }),
    raise: (key, to, { ttlMs }) =>
      attempt(async () => {
        await scripts.countersignRaise(key, to, ttlMs);
      }),
    ping: heartbeat,
    async close() {
      clearInterval(timer);
      availability.close();
      redis.disconnect();
    },
  };
}

/** MGET is for keys of one shard. The driver sends GETs of one event-loop turn to each shard without waiting. */
const getMany = (redis: RedisClient, keys: readonly string[]): Promise<(string | null)[]> =>
  redis instanceof Cluster ? Promise.all(keys.map((key) => redis.get(key))) : redis.mget(...keys);

/**
 * The heartbeat write, to all shards of a Redis Cluster. A primary that froze or vanished leaves its connection open, so after a
 * few seconds the connection is opened again: Sentinel, or the host's name, may lead to another server by then.
 */
function createBeat(redis: RedisClient): () => Promise<void> {
  let failingSince: number | undefined;
  const write = (key: string) => redis.set(key, '', 'PX', heartbeatTtlMs);
  return async () => {
    const keys = redis instanceof Cluster ? keysOfAllShards(redis, 'beat:') : ['beat'];
    try {
      if (keys.length === 0) throw new Error('not connected');
      await withTimeout(Promise.all(keys.map(write)));
      failingSince = undefined;
    } catch (error) {
      const now = performance.now();
      failingSince ??= now;
      const isDue = now - failingSince > reconnectAfterMs && redis.status === 'ready';
      if (isDue && !(redis instanceof Cluster)) {
        failingSince = now;
        redis.disconnect(true);
      }
      throw error;
    }
  };
}

/** Resolves when the first connection attempt has succeeded, failed or timed out. */
async function firstConnection(redis: RedisClient): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  // `once` rejects on an error event, which ends the wait too.
  const ended = Promise.race([once(redis, 'ready', { signal }), once(redis, 'close', { signal })]);
  await withTimeout(ended, firstConnectTimeoutMs).catch(() => {});
  done.abort();
}

/** setImmediate lets a busy process first read an answer that has already arrived. */
function withTimeout<T>(answer: Promise<T>, ms = commandTimeoutMs): Promise<T> {
  return new Promise((resolve, reject) => {
    const onTimeout = () => reject(new Error(`no answer within ${ms} ms`));
    const timer = setTimeout(() => setImmediate(onTimeout), ms);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Errors that concern every key; other errors concern one command. */
const globalErrors = /\b(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOAUTH|NOREPLICAS|OOM|READONLY)\b/;

const concernsAllKeys = (error: unknown): boolean =>
  !(error instanceof Error) || error.name !== 'ReplyError' || globalErrors.test(error.message);

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** The circuit breaker's state. One log line when Redis becomes unavailable and one when it recovers. */
function createAvailability(log: Log) {
  let closed = false;
  let outage: { readonly since: number; readonly reason: string } | undefined;
  return {
    unavailableReason: () => outage?.reason,
    markUnavailable(reason: string) {
      if (outage || closed) return;
      outage = { since: performance.now(), reason };
      log.warn(`redis unavailable: ${reason}; counting limits per process`);
    },
    /** The answer to a command sent before the outage proves nothing. */
    markAvailable(sentAt: number) {
      if (!outage || sentAt < outage.since) return;
      outage = undefined;
      log.info('redis available again');
    },
    close() {
      closed = true;
    },
  };
}
