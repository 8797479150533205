/**
 * What was read in PostgreSQL, kept in the key-value store for a few seconds, so that most questions cost one look there and no
 * SQL.
 *
 * A change is announced in the store before it commits, and for as long as a reader could still bring an older answer
 * everybody who asks is sent to PostgreSQL. Nothing is believed because it is missing: a store that was flushed, or drops
 * keys, costs queries and never brings back what has been.
 */
import type { Clock } from '../clock.ts';
import type { Loop } from '../concurrency/loops.ts';
import type { Happening, LedgerListener } from '../ledger.ts';
import { type Kv, KvAway } from '../ports/kv.ts';
import { unchanging } from './deep-freeze.ts';
import { createRecent } from './lru.ts';

/** How long an answer is believed: also the longest that a change can go unnoticed when it could not be announced. */
const believedMs = 10_000;
/**
 * Longer than what follows an announcement until its commit, and than a reader can be on its way with an older answer:
 * statements are cut after 20 seconds.
 */
const announcedMs = 60_000;

/**
 * A write can be under way for minutes, when a connection stands still and comes back, and be given its time to live only
 * then: so what is kept says itself how long it holds.
 */
interface Kept {
  readonly until: number;
  readonly value: unknown;
}

const textOf = (kept: Kept): string => JSON.stringify(kept);
const nothing: Kept = { until: 0, value: null };
const changing = textOf(nothing);

export interface Announced {
  /**
   * What is kept under each of the keys; null where PostgreSQL has to be asked. It is shared, so nobody can change it; as long
   * as the same is kept, it is the same object.
   */
  recall(keys: readonly string[]): Promise<readonly unknown[]>;
  /** Keeps what was read, as JSON, unless something is there; `readAt` is when, by the clock, the reading began. */
  keep(entries: readonly (readonly [key: string, value: unknown])[], readAt: number): Promise<void>;
  /** Keeps what cannot change any more. */
  keepFinal(key: string, value: unknown, until: number): Promise<void>;
  /** For the ledger: announces the keys of what happened. Once it has committed, and the store heard of it or is away, calls for each. */
  listener(
    keysOf: (happening: Happening) => readonly string[],
    afterwards?: (happening: Happening) => void,
  ): LedgerListener;
  readonly loops: readonly Loop[];
}

export function createAnnounced({ kv, clock }: { kv: Kv; clock: Clock }): Announced {
  /** What could not be announced, and until when it matters; the oldest first. */
  const untold = new Map<string, number>();
  const readKept = createReadKept();

  const announce = async (keys: readonly string[]) => {
    if (keys.length === 0) return;
    for (const key of keys) {
      untold.delete(key);
      untold.set(key, clock.now() + announcedMs);
    }
    await tell(keys);
  };

  const tellOne = async (key: string) => {
    const until = untold.get(key);
    if (until === undefined) return;
    await kv.set(key, changing, { ttlMs: announcedMs });
    if (untold.get(key) === until) untold.delete(key);
  };

  /** The first alone, to find out whether the store is there: thousands may be waiting for it. */
  const tell = async ([first, ...others]: readonly string[]): Promise<void> => {
    if (first === undefined) return;
    const told = tellOne(first).then(() => Promise.all(others.map(tellOne)));
    await unlessAway(told, undefined);
  };

  const tellRest = async () => {
    for (const [key, until] of untold) {
      if (until > clock.now()) break;
      untold.delete(key);
    }
    await tell([...untold.keys()]);
  };

  return {
    async recall(keys) {
      const values = await unlessAway(kv.getMany(keys), []);
      const now = clock.now();
      return keys.map((key, index) => {
        const text = values[index];
        if (!text || untold.has(key)) return null;
        const { until, value } = readKept(key, text);
        return until > now ? value : null;
      });
    },

    async keep(entries, readAt) {
      // Believed from when it was read, however long it took to get here.
      const until = readAt + believedMs;
      const ttlMs = Math.ceil(until - clock.now());
      if (ttlMs <= 0) return;
      // Never over something that is there: it may be the announcement of a change that we have not seen.
      const kept = entries.map(([key, value]) =>
        kv.set(key, textOf({ until, value }), { ttlMs, onlyIfAbsent: true }),
      );
      await unlessAway(Promise.all(kept), undefined);
    },

    async keepFinal(key, value, until) {
      const ttlMs = Math.ceil(until - clock.now());
      if (ttlMs > 0) await unlessAway(kv.set(key, textOf({ until, value }), { ttlMs }), undefined);
    },

    listener: (keysOf, afterwards) => ({
      inTransaction: (_, happenings) => announce(happenings.flatMap(keysOf)),
      /** Once more, for a store that lost the announcement before the commit. */
      afterCommit(happenings) {
        announce(happenings.flatMap(keysOf))
          .then(() => afterwards && happenings.forEach(afterwards))
          .catch(() => {});
      },
    }),

    loops: [{ name: 'untold-changes', everyMs: 1_000, everywhere: true, run: tellRest }],
  };
}

/** Characters: enough for the tokens, agents and organizations of a busy moment. An agent that is shown has its answer's text besides. */
const remembered = 16_000_000;

/** Each text once: the same comes with every request for ten seconds, and then another in its place. */
function createReadKept(): (key: string, text: string) => Kept {
  const known = createRecent<{ text: string; kept: Kept }>(remembered, ({ text }) => text.length);
  return (key, text) => {
    const before = known.get(key);
    if (before?.text === text) return before.kept;
    const kept = keptIn(text);
    known.set(key, { text, kept });
    return kept;
  };
}

/** Whatever else may stand there is nothing of ours. */
function keptIn(text: string): Kept {
  try {
    const { until, value = null } = JSON.parse(text) ?? nothing;
    return typeof until === 'number' ? { until, value: unchanging(value) } : nothing;
  } catch {
    return nothing;
  }
}

const unlessAway = <T, Otherwise>(asked: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> =>
  asked.catch((error) => {
    if (!(error instanceof KvAway)) throw error;
    return otherwise;
  });
