import { limits } from '../../contract/limits.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { createThrottle } from '../../kernel/concurrency/throttle.ts';
import type { FanOut } from './delivery/fan-out.ts';
import { deleteDeliveries, findSubscriptionsWithDeliveries } from './delivery/purge-store.ts';
import { channel } from './delivery/store.ts';
import type { Worker } from './delivery/worker.ts';
import type { DeliveryDeps } from './feature.ts';
import { runReplays } from './replays/run-replays.ts';
import { erasePreviousSecrets } from './subscriptions/store.ts';

/** Wake-ups within this time share a round. */
const roundIntervalMs = 25;

/** Woken by notifications and by free capacity. The interval is for retries and lost notifications. */
export function createDeliveryLoop(deps: DeliveryDeps, worker: Worker): Loop {
  const { db, log, vault } = deps;
  const throttle = createThrottle(deps, roundIntervalMs);
  return {
    name: 'webhooks-deliver',
    everyMs: 1_000,
    async run() {
      await throttle();
      await worker.round();
    },
    begin(wake) {
      if (!vault.encrypts)
        log.warn(
          'DATA_ENCRYPTION_KEY is not set: webhook signing secrets and client secrets of connections are stored unencrypted',
        );
      worker.onCapacity(wake);
      const stopListening = db.listen(channel, wake);
      return async () => {
        await stopListening();
        await worker.stop();
      };
    },
  };
}

/** For events whose process was killed before it made their deliveries. In every process: a worker may still be of an earlier version. */
export const createFanOutLoop = (fanOut: FanOut): Loop => ({
  name: 'webhooks-fan-out',
  everyMs: 1_000,
  inEveryProcess: true,
  run: fanOut.round,
});

/** A requested replay starts within a second, and continues as the deliveries are sent. */
export const createReplayLoop = (deps: DeliveryDeps): Loop => ({
  name: 'webhooks-replay',
  everyMs: 1_000,
  async run(signal) {
    await runReplays(deps, signal);
  },
});

/** Attempts ignore an expired secret, so this need not be punctual. */
export const createSecretsLoop = ({ db, clock }: DeliveryDeps): Loop => ({
  name: 'webhooks-secrets',
  everyMs: 60_000,
  purges: true,
  async run() {
    await erasePreviousSecrets(db, isoTime(clock));
  },
});

const dayMs = 86_400_000;
const chunk = 1_000;

export const createPurgeLoop = (deps: DeliveryDeps): Loop => ({
  name: 'webhooks-purge',
  everyMs: 3_600_000,
  purges: true,
  run: (signal) => purgeDeliveries(deps, signal),
});

/**
 * Deletes completed deliveries after the retention period. Deliveries that wait for an inactive subscription or a halted
 * organization are deleted then as well; those of a deleted subscription at once.
 */
export async function purgeDeliveries({ db, clock }: DeliveryDeps, signal?: AbortSignal): Promise<void> {
  const before = new Date(clock.now() - limits.webhookRetentionDays * dayMs).toISOString();
  for (const { id, exists, sending } of await findSubscriptionsWithDeliveries(db)) {
    const filter = exists ? { before, completedOnly: sending } : { before: null, completedOnly: false };
    while (!signal?.aborted) {
      if ((await deleteDeliveries(db, id, { ...filter, limit: chunk })) < chunk) break;
    }
  }
}
