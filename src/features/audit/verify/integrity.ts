/**
 * Whether the log is intact, for those who must know now and cannot wait for a whole verification: what the watch has found,
 * and as much of a check as can be done in a moment.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import type { Alarm } from '../alarm.ts';
import type { Positions } from '../chain/chain-heads.ts';
import type { Verifier } from './verifier.ts';

export interface Integrity {
  /** Of one organization's chain: the whole of it, or the last hour of a very long one and what the watch has found. */
  of(organizationId: string): Promise<boolean>;
  /** Of all chains: rounds of the watch, once around if that can be done in a second. */
  everywhere(): Promise<boolean>;
}

/** About a second's work. */
const wholeAtMost = 100_000;
const recentMs = 3_600_000;
const roundsMs = 1_000;

export function createIntegrity(deps: {
  db: Db;
  clock: Clock;
  alarm: Alarm;
  positions: Positions;
  verifier: Verifier;
  /** Answers whether it has come to the last chain. */
  watch(): Promise<boolean>;
}): Integrity {
  const { db, clock, alarm, positions, verifier, watch } = deps;

  const lengthOf = async (organizationId: string): Promise<number> => {
    const end = (await positions.newest(db, [organizationId])).get(organizationId)?.position;
    const { anchor } = await positions.anchor(db, organizationId);
    return (end?.size ?? 0) - (anchor?.checkpoint.size ?? 0);
  };

  return {
    async of(organizationId) {
      if ((await lengthOf(organizationId)) <= wholeAtMost)
        return (await verifier.verify(organizationId)).finding === undefined;
      if (alarm.isRaised(organizationId)) return false;
      const period = { from: clock.now() - recentMs, to: clock.now() };
      return (await verifier.verify(organizationId, period)).finding === undefined;
    },

    async everywhere() {
      const until = clock.now() + roundsMs;
      // The watch may be anywhere on its way: only the second time at the end has it been everywhere.
      let ends = 0;
      while (ends < 2 && !alarm.isRaised() && clock.now() < until) if (await watch()) ends += 1;
      return !alarm.isRaised();
    },
  };
}
