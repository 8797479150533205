/**
 * The key-value port on Redis. A dead or slow Redis must never hold up a request: commands are refused at once while
 * there is no connection, cut after a short time when there is one, and after a cut Redis is left alone for a moment.
 */
import { Redis } from 'ioredis';
import { type Kv, KvAway } from '../kernel/kv.ts';
import type { Log } from '../kernel/log.ts';

const prefix = 'countersign:';
const commandTimeoutMs = 250;
const restAfterTimeoutMs = 1_000;

/** Expiry is set by whoever creates the counter, in the same step, so that no counter can live for ever. */
const incrementScript = `
local value = redis.call('INCRBY', KEYS[1], ARGV[1])
if value == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return value`;

/** -1: there is no such counter; -2: it is full. */
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

interface OurCommands {
  countersignIncrement(key: string, by: number, ttlMs: number): Promise<number>;
  countersignTake(key: string, atMost: number): Promise<number>;
  countersignRaise(key: string, to: number, ttlMs: number): Promise<number>;
}

/** Does not wait for the connection: the service starts, and goes on, without Redis. */
export function createRedisKv(url: string, log: Log): Kv {
  const redis = new Redis(url, {
    keyPrefix: prefix,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: commandTimeoutMs,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  redis.defineCommand('countersignIncrement', { numberOfKeys: 1, lua: incrementScript });
  redis.defineCommand('countersignTake', { numberOfKeys: 1, lua: takeScript });
  redis.defineCommand('countersignRaise', { numberOfKeys: 1, lua: raiseScript });
  const ours = redis as unknown as OurCommands;
  watchConnection(redis, log);

  let restingUntil = 0;
  const attempt = async <T>(command: () => Promise<T>): Promise<T> => {
    if (performance.now() < restingUntil) throw new KvAway('it did not answer in time a moment ago');
    try {
      return await command();
    } catch (error) {
      if (error instanceof Error && /timed out/i.test(error.message)) {
        restingUntil = performance.now() + restAfterTimeoutMs;
      }
      throw new KvAway(error);
    }
  };

  return {
    get: (key) => attempt(() => redis.get(key)),
    getMany: (keys) => (keys.length === 0 ? Promise.resolve([]) : attempt(() => redis.mget(...keys))),
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
    increment: (key, { ttlMs, by = 1 }) => attempt(() => ours.countersignIncrement(key, by, ttlMs)),
    take: (key, { atMost }) =>
      attempt(async () => {
        const value = await ours.countersignTake(key, atMost);
        return value === -1 ? 'absent' : value === -2 ? 'full' : value;
      }),
    raise: (key, to, { ttlMs }) =>
      attempt(async () => {
        await ours.countersignRaise(key, to, ttlMs);
      }),
    ping: () =>
      attempt(async () => {
        await redis.ping();
      }),
    async close() {
      redis.disconnect();
    },
  };
}

/** One line when it goes and one when it comes back; ioredis itself repeats the error at every attempt. */
function watchConnection(redis: Redis, log: Log) {
  let away = false;
  redis.on('error', (error) => {
    if (!away) log.warn({ err: error }, 'Redis is away; limits are counted per process until it is back');
    away = true;
  });
  redis.on('ready', () => {
    if (away) log.info('Redis is back');
    away = false;
  });
}
