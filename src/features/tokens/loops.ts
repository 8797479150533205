import type { Loop } from '../../kernel/loops.ts';
import type { TokenDeps } from './feature.ts';
import { deleteExpired } from './store.ts';

/** What has expired needs no record of its revocation or use; a day's grace covers clocks that differ. */
const graceMs = 86_400_000;

export const createExpiryLoop = ({ db, clock }: TokenDeps): Loop => ({
  name: 'tokens-expired',
  everyMs: 3_600_000,
  run: () => deleteExpired(db, new Date(clock.now() - graceMs)),
});
