import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import type { AuthorizationDeps } from './feature.ts';
import { deleteExpiredCodes } from './grants-store.ts';
import { deleteExpiredRequests } from './requests-store.ts';

/** A used code stays for a day: its second use ends the chain. */
const codeGraceMs = 86_400_000;

/** Requests do not depend on it: their queries compare the times. Refresh tokens are deleted with their chain. */
export const createPurgeLoop = ({ db, clock }: Pick<AuthorizationDeps, 'db' | 'clock'>): Loop => ({
  name: 'authorization-expired',
  everyMs: 60_000,
  purges: true,
  async run(signal) {
    const now = clock.now();
    await deleteInChunks(signal, (atMost) => deleteExpiredRequests(db, new Date(now), atMost));
    await deleteInChunks(signal, (atMost) => deleteExpiredCodes(db, new Date(now - codeGraceMs), atMost));
  },
});
