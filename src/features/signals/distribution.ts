/**
 * Puts signals into the queues of the streams, after the change that wrote them: an end of access must not wait for the streams of the
 * organizations that learn of it. The process that wrote a signal distributes it at once; when it is killed, any other process does.
 */
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { SignalDeps } from './feature.ts';
import { distributeSignals } from './signals-store.ts';

const organizationsAtOnce = 50;
const signalsPerOrganization = 20;

export interface Distribution {
  /** Distributes all signals that wait, or those of one organization. */
  distribute(organizationId?: string, signal?: AbortSignal): Promise<void>;
  /** Distributes those of one organization in a transaction that needs them in the queues. */
  distributeIn(tx: Tx, organizationId: string): Promise<void>;
  readonly loop: Loop;
  wake(): void;
}

export function createDistribution({ db, clock }: Pick<SignalDeps, 'db' | 'clock'>): Distribution {
  let wake = () => {};

  const batchOf = (organizationId?: string) => ({
    ...(organizationId !== undefined && { organizationId }),
    organizations: organizationsAtOnce,
    perOrganization: signalsPerOrganization,
    now: isoTime(clock),
  });

  const distribute: Distribution['distribute'] = async (organizationId, signal) => {
    const batch = batchOf(organizationId);
    let distributed: number;
    do distributed = await db.transaction((tx) => distributeSignals(tx, batch));
    while (distributed > 0 && !signal?.aborted);
  };

  return {
    distribute,
    async distributeIn(tx, organizationId) {
      while ((await distributeSignals(tx, batchOf(organizationId))) > 0);
    },
    loop: {
      name: 'signals-distribute',
      everyMs: 500,
      inEveryProcess: true,
      run: (signal) => distribute(undefined, signal),
      begin(wakeLoop) {
        wake = wakeLoop;
        return async () => {
          wake = () => {};
        };
      },
    },
    wake: () => wake(),
  };
}
