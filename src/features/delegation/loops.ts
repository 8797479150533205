import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { DelegationDeps } from './deps.ts';
import { deleteExpired } from './store.ts';

/** Kept as long as the audit events that speak of them. */
const atOnce = 1_000;
const keptMs = limits.auditRetentionDays * 86_400_000;

export const createPruneLoop = ({ db, clock }: Pick<DelegationDeps, 'db' | 'clock'>): Loop => ({
  name: 'delegations-expired',
  everyMs: 3_600_000,
  purges: true,
  async run(signal) {
    const before = new Date(clock.now() - keptMs);
    while (!signal.aborted && (await deleteExpired(db, before, atOnce)) === atOnce);
  },
});
