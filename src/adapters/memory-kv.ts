/** The key-value port in this process's memory: `REDIS_URL=memory://`, and the stand-in while Redis is away. */
import type { Clock } from '../kernel/clock.ts';
import type { Kv } from '../kernel/kv.ts';

interface Entry {
  value: string;
  expiresAt: number;
}

/** Expired keys leave when they are looked at, and in a sweep whenever this many writes have gone by. */
const sweepEvery = 10_000;

export function createMemoryKv(clock: Clock): Kv {
  const entries = new Map<string, Entry>();
  let writes = 0;

  const live = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    if (entry && entry.expiresAt > clock.now()) return entry;
    entries.delete(key);
    return undefined;
  };

  const write = (key: string, entry: Entry) => {
    entries.set(key, entry);
    writes += 1;
    if (writes % sweepEvery === 0) for (const stale of entries.keys()) live(stale);
  };

  return {
    async get(key) {
      return live(key)?.value ?? null;
    },
    async getMany(keys) {
      return keys.map((key) => live(key)?.value ?? null);
    },
    async set(key, value, { ttlMs, onlyIfAbsent }) {
      if (onlyIfAbsent && live(key)) return false;
      write(key, { value, expiresAt: clock.now() + ttlMs });
      return true;
    },
    async delete(key) {
      entries.delete(key);
    },
    async increment(key, { ttlMs, by = 1 }) {
      const entry = live(key);
      const next = Number(entry?.value ?? 0) + by;
      if (entry) entry.value = String(next);
      else write(key, { value: String(next), expiresAt: clock.now() + ttlMs });
      return next;
    },
    async ping() {},
    async close() {
      entries.clear();
    },
  };
}
