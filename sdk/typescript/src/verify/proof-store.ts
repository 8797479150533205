/** The ids of proofs that were used, so that none counts twice. */

/** Share one among the processes of an API, for example with `SET id 1 NX PXAT expiresAt` of Redis. */
export interface ProofStore {
  /** Stores the id until `expiresAt` (milliseconds since 1970). False if it is stored already. */
  add(id: string, expiresAt: number): boolean | Promise<boolean>;
}

/**
 * In memory, for an API that runs in one process: when the store is full, the ids that expire first leave, and proofs as old as they are
 * refused, because none of them can be told from a replay.
 */
export function createProofStore(options: {
  readonly maxEntries?: number;
  readonly now: () => number;
}): ProofStore {
  const { maxEntries = 100_000, now } = options;
  /** By the second in which they expire. Proofs live minutes, so there are few buckets. */
  const buckets = new Map<number, Set<string>>();
  let size = 0;
  /** Ids that expire in this second or before are not stored any more. */
  let floor = Number.NEGATIVE_INFINITY;

  const remove = (second: number) => {
    size -= buckets.get(second)?.size ?? 0;
    buckets.delete(second);
    floor = Math.max(floor, second);
  };

  return {
    add(id, expiresAt) {
      const current = Math.floor(now() / 1000);
      if (current - 1 > floor) {
        for (const second of [...buckets.keys()]) if (second < current) remove(second);
        floor = Math.max(floor, current - 1);
      }
      const second = Math.floor(expiresAt / 1000);
      if (second <= floor) return false;
      const bucket = buckets.get(second) ?? new Set();
      if (bucket.has(id)) return false;
      buckets.set(second, bucket.add(id));
      size += 1;
      if (size > maxEntries) remove(Math.min(...buckets.keys()));
      return true;
    },
  };
}
