import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { deleteExpiredTokens } from './exchange/store.ts';
import type { WorkloadIdentityDeps } from './feature.ts';

/** An expired token needs no record of its use; a day's grace covers clock skew. */
const graceMs = 86_400_000;

export const createPurgeLoop = ({ db, clock }: Pick<WorkloadIdentityDeps, 'db' | 'clock'>): Loop => ({
  name: 'oidc-purge',
  everyMs: 3_600_000,
  purges: true,
  run: (signal) =>
    deleteInChunks(signal, (atMost) => deleteExpiredTokens(db, new Date(clock.now() - graceMs), atMost)),
});
