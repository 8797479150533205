import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { deleteExpired } from './store.ts';

/** The clocks of the nodes may differ: a proof that has ended on this node may be valid on another for a moment. */
const graceMs = 3_600_000;

export const createExpiryLoop = ({ db, clock }: { db: Db; clock: Clock }): Loop => ({
  name: 'provisioned-proofs-expired',
  everyMs: 3_600_000,
  purges: true,
  async run(signal) {
    const before = new Date(clock.now() - graceMs);
    await deleteInChunks(signal, (limit) => deleteExpired(db, before, limit));
  },
});
