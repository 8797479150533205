/**
 * Counts the tokens of organizations without limits. The transaction that issues them stores one row for all of them instead
 * of three counters for each. A loop counts these rows every minute; readers of the counters count them first.
 */
import type { EventType } from '../../contract/events.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import { isTemporary, type Tx } from '../../kernel/data/db.ts';
import { lockGlobal } from '../../kernel/data/locks.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import { countChunk, hasUncounted } from './deferred-counts-store.ts';
import type { UsageDeps } from './feature.ts';

export interface DeferredCounts {
  /** Counts all tokens that were issued before the call. */
  count(): Promise<void>;
  /** The same for readers. While the database accepts no writes, the figures may lack the tokens of the last minute. */
  countForReader(): Promise<void>;
  /** Counts them when a plan changes: an organization may have a limit from then on. */
  readonly planListener: LedgerListener;
}

/** Every change of a plan or of an organization's own limit is one of these, a change by a payment too. */
const planChanges: readonly EventType[] = [
  'organization.updated',
  'organization.suspended',
  'organization.reactivated',
];

export function createDeferredCounts({ db }: Pick<UsageDeps, 'db'>): DeferredCounts {
  const countIn = async (tx: Tx): Promise<boolean> => {
    await lockGlobal(tx, 'usageCompaction');
    return countChunk(tx);
  };

  const countAll = async () => {
    if (!(await hasUncounted(db))) return;
    while (await db.transaction(countIn));
  };

  /** Concurrent callers share one round. */
  const runShared = createBatcher({
    name: 'usage.count-tokens',
    run: async (callers: readonly null[]) => {
      await countAll();
      return callers.map(() => undefined);
    },
    maxBatch: 10_000,
    concurrency: 1,
    maxQueue: 10_000,
  });
  const count = () => runShared(null);

  return {
    count,
    countForReader: () =>
      count().catch((error) => {
        if (!isTemporary(error)) throw error;
      }),
    planListener: {
      types: planChanges,
      async inTransaction(tx) {
        while (await countIn(tx));
      },
    },
  };
}
