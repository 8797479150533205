/** The key-value port in this process's memory: `REDIS_URL=memory://`, and the fallback while Redis is unavailable. */
import type { Clock } from '../../kernel/clock.ts';
import type { Kv } from '../../kernel/ports/kv.ts';

interface Entry {
  value: string;
  expiresAt: number;
}

/** Reads remove expired keys. Each write also checks this many other keys, round robin, so that unread keys expire too. */
const checksPerWrite = 2;

export function createMemoryKv(clock: Clock): Kv {
  const entries = new Map<string, Entry>();
  let cursor = entries.keys();

  const getLive = (key: string, now = clock.now()): Entry | undefined => {
    const entry = entries.get(key);
    if (!entry || entry.expiresAt > now) return entry;
    entries.delete(key);
    return undefined;
  };

  const write = (key: string, entry: Entry) => {
    entries.set(key, entry);
    for (let check = 0; check < checksPerWrite; check += 1) {
      const { done, value } = cursor.next();
      if (done) cursor = entries.keys();
      else getLive(value);
    }
  };

  return {
    async get(key) {
      return getLive(key)?.value ?? null;
    },
    getMany(keys) {
      const now = clock.now();
      return keys.map((key) => getLive(key, now)?.value ?? null);
    },
    async set(key, value, { ttlMs, onlyIfAbsent }) {
      if (onlyIfAbsent && getLive(key)) return false;
      write(key, { value, expiresAt: clock.now() + ttlMs });
      return true;
    },
    async delete(key) {
      entries.delete(key);
    },
    increment(key, { ttlMs, by = 1 }) {
      const entry = getLive(key);
      const next = Number(entry?.value ?? 0) + by;
      if (entry) entry.value = String(next);
      else write(key, { value: String(next), expiresAt: clock.now() + ttlMs });
      return next;
    },
    async take(key, { max }) {
      const entry = getLive(key);
      if (!entry) return 'absent';
      if (Number(entry.value) >= max) return 'full';
      entry.value = String(Number(entry.value) + 1);
      return Number(entry.value);
    },
    async raise(key, to, { ttlMs }) {
      const entry = getLive(key);
      if (!entry) write(key, { value: String(to), expiresAt: clock.now() + ttlMs });
      else if (Number(entry.value) < to) entry.value = String(to);
    },
    async ping() {},
    async close() {
      entries.clear();
    },
  };
}
