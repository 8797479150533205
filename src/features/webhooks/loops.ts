import { limits } from '../../contract/limits.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { channel } from './deliveries-store.ts';
import type { DeliveryDeps } from './deps.ts';
import { createPace } from './pace.ts';
import { deleteDeliveries, findLanes } from './sweep-store.ts';
import type { Worker } from './worker.ts';

/** However many wake it: what they bring goes together. */
const roundsApartMs = 25;

/** Woken by whoever has put something down, and by its own free hands; the pause is for retries, and for news that was lost. */
export function createDeliveryLoop(deps: DeliveryDeps, worker: Worker): Loop {
  const { db, log, vault } = deps;
  const turn = createPace(deps, roundsApartMs);
  return {
    name: 'webhooks-deliver',
    everyMs: 1_000,
    async run() {
      await turn();
      await worker.round();
    },
    begin(wake) {
      if (!vault.encrypts)
        log.warn('DATA_ENCRYPTION_KEY is not set: webhook signing secrets are stored unencrypted');
      worker.onRoom(wake);
      const stopListening = db.listen(channel, wake);
      return async () => {
        await stopListening();
        await worker.stop();
      };
    },
  };
}

const dayMs = 86_400_000;
const piece = 1_000;

export const createSweepLoop = (deps: DeliveryDeps): Loop => ({
  name: 'webhooks-sweep',
  everyMs: 3_600_000,
  purges: true,
  run: (signal) => sweep(deps, signal),
});

/**
 * What was settled is kept for a while. What waits for a subscription that is inactive, or whose organization is halted, is
 * kept for as long and no longer.
 */
export async function sweep({ db, clock }: DeliveryDeps, signal?: AbortSignal): Promise<void> {
  const before = new Date(clock.now() - limits.webhookRetentionDays * dayMs).toISOString();
  for (const { id, exists, sending } of await findLanes(db)) {
    const which = exists ? { before, settledOnly: sending } : { before: null, settledOnly: false };
    while (!signal?.aborted) {
      if ((await deleteDeliveries(db, id, { ...which, atMost: piece })) < piece) break;
    }
  }
}
