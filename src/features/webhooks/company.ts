/**
 * Whether anybody has subscribed to anything. Events are recorded thousands of times a second, so an instance without a
 * subscription should not pay for them, and asking the database each time would be the price. What was read is believed for a
 * moment only, and whoever makes a first subscription is answered when that moment has passed everywhere: an event that
 * begins after the answer is never missed.
 */
import type { Db, Tx } from '../../kernel/data/db.ts';
import { findAnySubscription, holdElderSubscription } from './store.ts';

const believedMs = 250;
/** How long a subscription must have been there to count as known everywhere. A slow commit or two clocks that differ fit in. */
const knownMs = 10_000;

export interface Company {
  /** True only when nobody had subscribed a moment ago. Never waits. */
  isAbsent(): boolean;
  /**
   * Asked in the transaction that adds a subscription, or activates one: answers what to wait for once it has committed.
   * Where there is an elder one, nothing; it is kept from going until then.
   */
  join(tx: Tx, now: number): Promise<() => Promise<void>>;
}

export function createCompany(deps: {
  db: Db;
  /** Milliseconds of a clock that nobody sets. */
  elapsed(): number;
  pause(milliseconds: number): Promise<void>;
}): Company {
  const { db, elapsed, pause } = deps;
  let absent = false;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading = false;

  const read = async () => {
    reading = true;
    const asked = elapsed();
    try {
      absent = !(await findAnySubscription(db));
      readAt = asked;
    } catch {
      absent = false;
    } finally {
      reading = false;
    }
  };

  return {
    isAbsent() {
      const age = elapsed() - readAt;
      if (age > believedMs / 2 && !reading) void read();
      return absent && age < believedMs;
    },
    async join(tx, now) {
      const before = new Date(now - knownMs).toISOString();
      if (await holdElderSubscription(tx, before)) return async () => {};
      return () => pause(believedMs * 1.2);
    },
  };
}
