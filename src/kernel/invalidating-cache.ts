/**
 * An invalidating cache: rows read from PostgreSQL are cached in the key-value store for a few seconds, so that most reads cost one
 * look-up there and no SQL.
 *
 * A change invalidates its keys before it commits. While a reader could still bring an older value, every read goes to
 * PostgreSQL. A missing key never means "unchanged": a store that was flushed, or evicts keys, costs queries and never
 * brings back an old value.
 */
import type { EventType } from '../contract/events.ts';
import type { Clock } from './clock.ts';
import type { Loop } from './concurrency/loops.ts';
import { andThen, type MaybePromise } from './concurrency/maybe-promise.ts';
import { createLru } from './data/lru.ts';
import { deepFreeze } from './data/shared-values.ts';
import type { DomainEvent, LedgerListener } from './domain-event.ts';
import type { Metrics } from './observability/metrics.ts';
import { type Kv, unlessUnavailable } from './ports/kv.ts';

/** How long a value is used: also the longest that a change stays unseen when its keys could not be invalidated. */
const maxAgeMs = 10_000;
/**
 * Longer than the time from an invalidation to its commit, and longer than a reader can take with an older value: statements time
 * out after 20 seconds.
 */
const invalidMs = 60_000;

/**
 * A write can be in flight for minutes when a connection stalls, and gets its time to live only when it arrives. So each entry
 * carries the time until which it is valid.
 */
interface CacheEntry {
  readonly until: number;
  readonly value: unknown;
}

const serialize = (entry: CacheEntry): string => JSON.stringify(entry);
const noEntry: CacheEntry = { until: 0, value: null };
const tombstone = serialize(noEntry);

export interface InvalidatingCache {
  /**
   * The cached value of each key; null where PostgreSQL has to be read. Values are shared and frozen; an unchanged entry gives
   * the same object again.
   */
  getMany(keys: readonly string[]): MaybePromise<readonly unknown[]>;
  /** Caches values that were just read, as JSON, unless the key exists. `readAt` is when the read began, by the clock. */
  putIfAbsent(entries: readonly (readonly [key: string, value: unknown])[], readAt: number): Promise<void>;
  /** Caches a value that cannot change any more. */
  putUntil(key: string, value: unknown, until: number): Promise<void>;
  /**
   * For the ledger: invalidates the keys of each event. `afterwards` runs for each event after the commit, once the store has
   * the invalidation or is unavailable.
   */
  listener(
    types: readonly EventType[],
    keysOf: (event: DomainEvent) => readonly string[],
    afterwards?: (event: DomainEvent) => void,
  ): LedgerListener;
  readonly loops: readonly Loop[];
}

export function createInvalidatingCache(deps: { kv: Kv; clock: Clock; metrics: Metrics }): InvalidatingCache {
  const { kv, clock, metrics } = deps;
  const countHits = metrics.counter('service_cache_lookups_total', { cache: 'shared', result: 'hit' });
  const countMisses = metrics.counter('service_cache_lookups_total', { cache: 'shared', result: 'miss' });
  /** Keys whose invalidation the store has not confirmed, and until when it matters; the oldest first. */
  const pendingInvalidations = new Map<string, number>();
  const parseCached = createCachedParser();

  const invalidate = async (keys: readonly string[]) => {
    if (keys.length === 0) return;
    for (const key of keys) {
      pendingInvalidations.delete(key);
      pendingInvalidations.set(key, clock.now() + invalidMs);
    }
    await writeTombstones(keys);
  };

  const writeTombstone = async (key: string) => {
    const until = pendingInvalidations.get(key);
    if (until === undefined) return;
    await kv.set(key, tombstone, { ttlMs: invalidMs });
    if (pendingInvalidations.get(key) === until) pendingInvalidations.delete(key);
  };

  /** The first one alone, to learn whether the store is available: thousands may be pending. */
  const writeTombstones = async ([first, ...others]: readonly string[]): Promise<void> => {
    if (first === undefined) return;
    const written = writeTombstone(first).then(() => Promise.all(others.map(writeTombstone)));
    await unlessUnavailable(written, undefined);
  };

  const retryPending = async () => {
    for (const [key, until] of pendingInvalidations) {
      if (until > clock.now()) break;
      pendingInvalidations.delete(key);
    }
    await writeTombstones([...pendingInvalidations.keys()]);
  };

  const readAll = (keys: readonly string[], texts: readonly (string | null)[]) => {
    const now = clock.now();
    let hits = 0;
    const values = keys.map((key, index) => {
      const text = texts[index];
      if (!text || pendingInvalidations.has(key)) return null;
      const { until, value } = parseCached(key, text);
      if (until <= now) return null;
      hits += 1;
      return value;
    });
    countHits(hits);
    countMisses(keys.length - hits);
    return values;
  };

  return {
    getMany(keys) {
      const texts = kv.getMany(keys);
      return andThen(texts instanceof Promise ? unlessUnavailable(texts, []) : texts, (found) =>
        readAll(keys, found),
      );
    },

    async putIfAbsent(entries, readAt) {
      // The age counts from the read, however long the way here took.
      const until = readAt + maxAgeMs;
      const ttlMs = Math.ceil(until - clock.now());
      if (ttlMs <= 0) return;
      // Never overwrites: an existing entry may be the tombstone of a change that this reader has not seen.
      const writes = entries.map(([key, value]) =>
        kv.set(key, serialize({ until, value }), { ttlMs, onlyIfAbsent: true }),
      );
      await unlessUnavailable(Promise.all(writes), undefined);
    },

    async putUntil(key, value, until) {
      const ttlMs = Math.ceil(until - clock.now());
      if (ttlMs > 0) await unlessUnavailable(kv.set(key, serialize({ until, value }), { ttlMs }), undefined);
    },

    listener: (types, keysOf, afterwards) => ({
      types,
      inTransaction: (_, events) => invalidate(events.flatMap(keysOf)),
      /** Once more, for a store that lost the tombstone before the commit. */
      afterCommit(events) {
        invalidate(events.flatMap(keysOf))
          .then(() => afterwards && events.forEach(afterwards))
          .catch(() => {});
      },
    }),

    loops: [{ name: 'pending-invalidations', everyMs: 1_000, inEveryProcess: true, run: retryPending }],
  };
}

/** In characters: enough for the tokens, agents and organizations of a busy moment. A shown agent also keeps its response text. */
const maxParsed = 16_000_000;

/** Parses each text once: the same text comes with every request for ten seconds. */
function createCachedParser(): (key: string, text: string) => CacheEntry {
  const parsed = createLru<{ text: string; entry: CacheEntry }>(maxParsed, ({ text }) => text.length);
  return (key, text) => {
    const known = parsed.get(key);
    if (known?.text === text) return known.entry;
    const entry = parseEntry(text);
    parsed.set(key, { text, entry });
    return entry;
  };
}

/** Text that this cache did not write counts as a miss. */
function parseEntry(text: string): CacheEntry {
  try {
    const { until, value = null } = JSON.parse(text) ?? noEntry;
    return typeof until === 'number' ? { until, value: deepFreeze(value) } : noEntry;
  } catch {
    return noEntry;
  }
}
