/**
 * When credentials were last used, accurate to a minute. Uses stay in memory and are written together (write-behind), each credential
 * at most once a minute, so that a token costs no write.
 */

import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { createLru } from '../../kernel/data/lru.ts';
import type { CredentialDeps } from './feature.ts';
import { upsertUses } from './store.ts';

export interface CredentialUses {
  /** Notes that a client has authenticated with the credential. `lastUsedAt` is written within a second or two. */
  recordUse(credentialId: string): void;
  /** Writes the uses that are in memory. */
  flushUses(): Promise<void>;
}

const accuracyMs = 60_000;
/** Bounds the memory while the database is unavailable; further uses are not recorded. */
const maxPending = 30_000;
const maxRecent = 60_000;

export function createCredentialUses({ db, clock }: Pick<CredentialDeps, 'db' | 'clock'>): CredentialUses {
  /** The recorded time of each credential that was used within the last minute. */
  const recent = createLru<number>(maxRecent);
  let pending = new Map<string, number>();

  const write = async () => {
    if (pending.size === 0) return;
    const uses = pending;
    pending = new Map();
    try {
      await upsertUses(
        db,
        [...uses].map(([credentialId, at]) => ({ credentialId, lastUsedAt: new Date(at).toISOString() })),
      );
    } catch (error) {
      pending = new Map([...uses, ...pending]);
      throw error;
    }
  };

  /** Concurrent flushes share one write. */
  const flush = createBatcher({
    name: 'credentials.flush-uses',
    run: async (flushes: readonly null[]) => {
      await write();
      return flushes.map(() => undefined);
    },
    maxBatch: 10_000,
    concurrency: 1,
    maxQueue: 10_000,
  });

  return {
    recordUse(credentialId) {
      const now = clock.now();
      const recorded = recent.get(credentialId);
      if (recorded !== undefined && Math.abs(now - recorded) < accuracyMs) return;
      if (pending.size >= maxPending) return;
      recent.set(credentialId, now);
      pending.set(credentialId, now);
    },
    flushUses: () => flush(null),
  };
}
