/**
 * How use is counted. What happens at every call is gathered in memory and written every second; a process that is
 * killed loses that second. What the ledger records is counted in the same transaction, so that no token is ever lost.
 */
import type { UsageMetric } from '../../contract/usage.ts';
import { createBatcher } from '../../kernel/concurrency/batcher.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import type { UsageDeps } from './deps.ts';
import { dayOf } from './period.ts';
import { insertTokensAtCommit, insertUsage, type TokenRow, type UsageRow } from './store.ts';

export interface Counting {
  /** Costs next to nothing; written within a second. */
  count(organizationId: string, agentId: string, metric: UsageMetric, quantity?: number): void;
  /** Counts the tokens that the ledger records as issued. */
  readonly listener: LedgerListener;
  /** Writes what has been gathered so far. */
  flush(): Promise<void>;
}

/** Added to in place. */
type Counted = Omit<UsageRow, 'quantity'> & { quantity: number };

export function createCounting({ db, clock, shard }: Pick<UsageDeps, 'db' | 'clock' | 'shard'>): Counting {
  let gathered = new Map<string, Counted>();
  const today = createToday();

  const write = async () => {
    const rows = gathered;
    if (rows.size === 0) return;
    gathered = new Map();
    try {
      await insertUsage(db, [...rows.values()], shard);
    } catch (error) {
      for (const row of rows.values()) add(gathered, row);
      throw error;
    }
  };

  const writeForAll = createBatcher({
    run: async (askers: readonly null[]) => {
      await write();
      return askers.map(() => undefined);
    },
    maxBatch: 10_000,
    concurrency: 1,
    maxQueue: 10_000,
  });

  /** Once for each agent; those of one moment come with one time. */
  const countTokens = (tx: Tx, time: string, issued: readonly DomainEvent[]) => {
    const rows = new Map<string, TokenRow>();
    for (const { organizationId, agentId } of issued) {
      const tokens = (rows.get(agentId)?.tokens ?? 0) + 1;
      rows.set(agentId, { organizationId, agentId, tokens });
    }
    insertTokensAtCommit(tx, time, [...rows.values()], shard);
  };

  return {
    count(organizationId, agentId, metric, quantity = 1) {
      add(gathered, { organizationId, agentId, day: today(clock.now()), metric, quantity });
    },
    listener: {
      async inTransaction(tx, happenings) {
        const issued = happenings.filter(({ type }) => type === 'token.issued');
        for (const [time, together] of Map.groupBy(issued, ({ timestamp }) => timestamp))
          countTokens(tx, time, together);
      },
    },
    flush: () => writeForAll(null),
  };
}

function add(rows: Map<string, Counted>, row: Counted): void {
  const key = `${row.metric} ${row.day} ${row.organizationId} ${row.agentId}`;
  const there = rows.get(key);
  if (there) there.quantity += row.quantity;
  else rows.set(key, row);
}

/** Every call is counted on its day, and writing a date costs more than the rest of it. */
function createToday(): (now: number) => string {
  let known = { number: Number.NaN, text: '' };
  return (now) => {
    const number = Math.floor(now / 86_400_000);
    if (number !== known.number) known = { number, text: dayOf(now) };
    return known.text;
  };
}
