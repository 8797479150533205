import type { Loop } from '../../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../../kernel/data/delete-in-chunks.ts';
import type { ConsoleDeps } from '../feature.ts';
import { deleteExpired } from './store.ts';

/** Sign-ins that were begun and are over. Requests do not depend on it: their queries compare the times. */
export const createProviderPurgeLoop = ({ db, clock }: Pick<ConsoleDeps, 'db' | 'clock'>): Loop => ({
  name: 'provider-sign-ins-expired',
  everyMs: 60_000,
  purges: true,
  run: (signal) => deleteInChunks(signal, (limit) => deleteExpired(db, new Date(clock.now()), limit)),
});
