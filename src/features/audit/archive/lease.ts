/** The lease of a round: one process at a time archives. It renews the lease while it works; after a kill another process goes on. */
import { limits } from '../../../contract/limits.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { claimRound, renewRound } from './store.ts';

export interface Lease {
  /** Throws LeaseLost when it has ended: another process may have a round. */
  keep(): Promise<void>;
  release(): Promise<void>;
}

export class LeaseLost extends Error {}

/** Longer than a step of the storage may take. */
const leaseMs = limits.auditArchive.stallSeconds * 1_500;

/** Undefined while another process has it. */
export async function claimLease({ db, clock }: { db: Db; clock: Clock }): Promise<Lease | undefined> {
  const isoAfter = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString();
  let endsAt = isoAfter(leaseMs);
  if (!(await claimRound(db, { now: isoAfter(0), endsAt }))) return undefined;
  return {
    async keep() {
      if (Date.parse(endsAt) - clock.now() > (leaseMs * 2) / 3) return;
      const until = isoAfter(leaseMs);
      if (!(await renewRound(db, { endsAt, until }))) throw new LeaseLost('the lease of the round has ended');
      endsAt = until;
    },
    release: async () => void (await renewRound(db, { endsAt, until: null }).catch(() => {})),
  };
}
