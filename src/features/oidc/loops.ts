import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import type { OidcDeps } from './deps.ts';
import { deleteExpiredUses } from './policies/store.ts';

/** What has expired needs no record of its use; a day's grace covers clocks that differ. */
const graceMs = 86_400_000;

export const createExpiryLoop = ({ db, clock }: Pick<OidcDeps, 'db' | 'clock'>): Loop => ({
  name: 'oidc-expired',
  everyMs: 3_600_000,
  purges: true,
  run: (signal) =>
    deleteInChunks(signal, (atMost) => deleteExpiredUses(db, new Date(clock.now() - graceMs), atMost)),
});
