import type { Loop } from '../../kernel/loops.ts';
import type { TokenDeps } from './feature.ts';
import { deleteExpiredRevocations } from './store.ts';

/** A token that has expired needs no revocation; a day's grace covers clocks that differ. */
const graceMs = 86_400_000;

export const createRevocationLoop = ({ db, clock }: TokenDeps): Loop => ({
  name: 'token-revocations',
  everyMs: 3_600_000,
  run: () => deleteExpiredRevocations(db, new Date(clock.now() - graceMs)),
});
