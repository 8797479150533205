/**
 * The key-value port on Redis. A dead or slow Redis must never hold up a request: commands are cut after a short time, and
 * from the first that failed they are refused at once, until something could be written again.
 *
 * A Redis that is read and not written to (full, a replica, unable to save) is away like one that is dead: what it holds may
 * be out of date, since nobody can announce a change there.
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Log } from '../../kernel/observability/log.ts';
import { type Kv, KvUnavailable } from '../../kernel/ports/kv.ts';

const prefix = 'countersign:';
const patienceMs = 250;
/** How long a start waits for the first connection. */
const firstPatienceMs = 1_000;
/** How often something is written to find out: also the longest that a process which only reads can be wrong. */
const beatMs = 1_000;
const beatTtlMs = 10_000;

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
  countersignTake(key: string, max: number): Promise<number>;
  countersignRaise(key: string, to: number, ttlMs: number): Promise<number>;
}

/** Once the first connection is made, or is not to be had in a moment: the service starts, and goes on, without Redis. */
export async function createRedisKv(url: string, log: Log): Promise<Kv> {
  const redis = new Redis(url, {
    keyPrefix: prefix,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    // For what the driver asks by itself; ours are cut sooner.
    commandTimeout: 2_000,
    // After a failover the old connection stays with what is a replica now; a new one may find the primary.
    reconnectOnError: ({ message }) => /\bREADONLY\b/.test(message),
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  redis.defineCommand('countersignIncrement', { numberOfKeys: 1, lua: incrementScript });
  redis.defineCommand('countersignTake', { numberOfKeys: 1, lua: takeScript });
  redis.defineCommand('countersignRaise', { numberOfKeys: 1, lua: raiseScript });
  const ours = redis as unknown as OurCommands;

  const presence = createPresence(log);
  const leave = (error: unknown) =>
    presence.leave(redis.status === 'ready' ? reasonOf(error) : 'there is no connection');
  redis.on('error', (error) => presence.leave(reasonOf(error)));
  // Nobody is to ask before: whoever does is too early, and would take a Redis that is there for one that is away.
  await firstAttempt(redis);
  if (redis.status !== 'ready') presence.leave('there is no connection');

  const attempt = async <T>(command: () => Promise<T>): Promise<T> => {
    const reason = presence.whyAway();
    if (reason !== undefined) throw new KvUnavailable(reason);
    try {
      return await inTime(command());
    } catch (error) {
      if (concernsAll(error)) leave(error);
      throw new KvUnavailable(error);
    }
  };
  /** Asks also while redis unavailable: this is how it is found again. */
  const beat = async () => {
    const askedAt = performance.now();
    try {
      await inTime(redis.set('beat', '', 'PX', beatTtlMs));
    } catch (error) {
      leave(error);
      throw new KvUnavailable(error);
    }
    presence.comeBack(askedAt);
  };
  const beating = setInterval(() => void beat().catch(() => {}), beatMs).unref();

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
    take: (key, { max }) =>
      attempt(async () => {
        const value = await ours.countersignTake(key, max);
        return value === -1 ? 'absent' : value === -2 ? 'full' : value;
      }),
    raise: (key, to, { ttlMs }) =>
      attempt(async () => {
        await ours.countersignRaise(key, to, ttlMs);
      }),
    ping: beat,
    async close() {
      clearInterval(beating);
      presence.close();
      redis.disconnect();
    },
  };
}

/** Until the first attempt to connect has ended, one way or the other, or takes too long. */
async function firstAttempt(redis: Redis): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  // An error ends the waiting for either.
  const ended = Promise.race([once(redis, 'ready', { signal }), once(redis, 'close', { signal })]);
  await inTime(ended, firstPatienceMs).catch(() => {});
  over.abort();
}

/** An answer that is here already, while this process was too busy to read it, is not late: reading comes before the second look. */
function inTime<T>(answer: Promise<T>, ms = patienceMs): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${ms} ms`));
    const timer = setTimeout(() => setImmediate(late), ms);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** What Redis answers to everybody, whatever the key: other answers are about one command. */
const refusals = /\b(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOAUTH|NOREPLICAS|OOM|READONLY)\b/;

const concernsAll = (error: unknown): boolean =>
  !(error instanceof Error) || error.name !== 'ReplyError' || refusals.test(error.message);

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** Whether Redis is there, as far as we know. One line when it goes and one when it comes back, however many notice. */
function createPresence(log: Log) {
  let closed = false;
  let away: { readonly since: number; readonly reason: string } | undefined;
  return {
    whyAway: () => away?.reason,
    leave(reason: string) {
      if (away || closed) return;
      away = { since: performance.now(), reason };
      log.warn(`redis unavailable: ${reason}; counting limits per process`);
    },
    /** An answer to what was asked before it went says nothing about now. */
    comeBack(askedAt: number) {
      if (!away || askedAt < away.since) return;
      away = undefined;
      log.info('redis available again');
    },
    close() {
      closed = true;
    },
  };
}
