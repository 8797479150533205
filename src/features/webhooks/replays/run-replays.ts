/**
 * Runs the requested replays in the background, a chunk in a transaction: when a process dies, another continues after the last
 * chunk. A replay waits while its subscription has a backlog, so that new events of the same subscription are not delayed by long.
 */

import { isoTime } from '../../../kernel/clock.ts';
import { notifyWorkers } from '../delivery/store.ts';
import type { DeliveryDeps } from '../feature.ts';
import {
  deleteReplay,
  findOpenReplays,
  hasBacklog,
  lockReplay,
  lockSubscriptionShared,
  markVisited,
  replayChunk,
} from './store.ts';

const chunk = 1_000;
/** Replays visited in a round; the others follow in the next. */
const maxVisited = 100;

/** Visits each open replay until none can continue. Returns how many deliveries it made pending. */
export async function runReplays(
  { db, clock }: Pick<DeliveryDeps, 'db' | 'clock'>,
  signal?: AbortSignal,
): Promise<number> {
  const visit = (number: number): Promise<number> =>
    db.transaction(async (tx) => {
      const replay = await lockReplay(tx, number);
      if (!replay) return 0;
      const { subscriptionId } = replay;
      const now = isoTime(clock);
      if (!(await lockSubscriptionShared(tx, subscriptionId))) {
        await deleteReplay(tx, number);
        return 0;
      }
      if (await hasBacklog(tx, subscriptionId, { size: chunk, now })) {
        await markVisited(tx, number, now);
        return 0;
      }
      const found = await replayChunk(tx, number, { limit: chunk, now });
      if (found < chunk) await deleteReplay(tx, number);
      if (found > 0) await notifyWorkers(tx);
      return found;
    });

  let total = 0;
  for (;;) {
    let found = 0;
    for (const { number } of await findOpenReplays(db, maxVisited)) {
      if (signal?.aborted) return total;
      found += await visit(number);
    }
    if (found === 0) return total;
    total += found;
  }
}
