import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import type { DelegationDeps } from './feature.ts';
import { deleteExpired } from './store.ts';

/** As long as the audit events of the delegations. */
const retentionMs = limits.auditRetentionDays * 86_400_000;

export const createPurgeLoop = ({ db, clock }: Pick<DelegationDeps, 'db' | 'clock'>): Loop => ({
  name: 'delegations-expired',
  everyMs: 3_600_000,
  purges: true,
  async run(signal) {
    const before = new Date(clock.now() - retentionMs);
    await deleteInChunks(signal, (limit) => deleteExpired(db, before, limit));
  },
});
