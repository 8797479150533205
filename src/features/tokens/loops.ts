import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import type { TokenDeps } from './feature.ts';
import { deleteExpiredAssertions, deleteExpiredProofs, deleteExpiredRevocations } from './store.ts';

/** Expired tokens and assertions need no record; a day of grace covers clock skew. */
const graceMs = 86_400_000;

export const createExpiryLoop = ({ db, clock }: Pick<TokenDeps, 'db' | 'clock'>): Loop => ({
  name: 'tokens-expired',
  everyMs: 3_600_000,
  purges: true,
  async run(signal) {
    const before = new Date(clock.now() - graceMs);
    await deleteInChunks(signal, (atMost) => deleteExpiredAssertions(db, before, atMost));
    await deleteInChunks(signal, (atMost) => deleteExpiredRevocations(db, before, atMost));
  },
});

/** There is one for each bound token and each call of our API with one. The grace covers clock skew. */
const proofGraceMs = 300_000;

export const createProofExpiryLoop = ({ db, clock }: Pick<TokenDeps, 'db' | 'clock'>): Loop => ({
  name: 'proofs-expired',
  everyMs: 60_000,
  purges: true,
  async run(signal) {
    const before = new Date(clock.now() - proofGraceMs);
    await deleteInChunks(signal, (atMost) => deleteExpiredProofs(db, before, atMost));
  },
});
