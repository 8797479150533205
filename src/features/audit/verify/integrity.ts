/**
 * Integrity within about a second, for callers that cannot wait for a whole verification: the findings of the watch, and
 * as much verification as fits.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import type { IntegrityStatus } from '../integrity-status.ts';
import type { Verifier } from './verifier.ts';

export interface Integrity {
  /** One organization's chain: the whole, or for a very long one its last hour and the findings of the watch. */
  of(organizationId: string): Promise<boolean>;
  /** All chains: rounds of the watch, through all chains if that takes less than a second. */
  everywhere(): Promise<boolean>;
}

/** About a second of work. */
const maxWholeLinks = 100_000;
const brief = { maxLeaves: 50_000 };
const recentMs = 3_600_000;
const roundsMs = 1_000;

export function createIntegrity(deps: {
  db: Db;
  clock: Clock;
  integrity: IntegrityStatus;
  chainHeads: ChainHeads;
  verifier: Verifier;
  /** Returns whether the round reached the last chain. */
  watch(): Promise<boolean>;
}): Integrity {
  const { db, clock, integrity, chainHeads, verifier, watch } = deps;

  const lengthOf = async (organizationId: string): Promise<number> => {
    const head = (await chainHeads.newest(db, [organizationId])).get(organizationId)?.head;
    const { anchor } = await chainHeads.anchor(db, organizationId);
    return (head?.size ?? 0) - (anchor?.checkpoint.size ?? 0);
  };

  return {
    async of(organizationId) {
      if ((await lengthOf(organizationId)) <= maxWholeLinks)
        return (await verifier.verify(organizationId, undefined, brief)).finding === undefined;
      if (integrity.isRaised(organizationId)) return false;
      const period = { from: clock.now() - recentMs, to: clock.now() };
      return (await verifier.verify(organizationId, period, brief)).finding === undefined;
    },

    async everywhere() {
      const until = clock.now() + roundsMs;
      // The watch may start anywhere: it has verified all chains when it reaches the end for the second time.
      let ends = 0;
      while (ends < 2 && !integrity.isRaised() && clock.now() < until) if (await watch()) ends += 1;
      return !integrity.isRaised();
    },
  };
}
