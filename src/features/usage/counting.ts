/**
 * How use is counted. What happens at every call is gathered in memory and written every second; a process that is
 * killed loses that second. What the ledger records is counted in the same transaction, so that no token is ever lost.
 */
import type { EventType } from '../../contract/events.ts';
import type { UsageMetric } from '../../contract/usage.ts';
import type { Tx } from '../../kernel/db.ts';
import { createGatherer } from '../../kernel/gather.ts';
import type { Happening, LedgerListener } from '../../kernel/ledger.ts';
import type { UsageDeps } from './feature.ts';
import { dayOf } from './period.ts';
import {
  insertTokensAtCommit,
  insertUsage,
  insertUsageAtCommit,
  type TokenRow,
  type UsageRow,
} from './store.ts';

export interface Counting {
  /** Costs next to nothing; written within a second. */
  count(organizationId: string, agentId: string, metric: UsageMetric, quantity?: number): void;
  /** What the ledger records: tokens issued, and whatever else `countedEvents` names. */
  readonly listener: LedgerListener;
  /** Writes what has been gathered so far. */
  flush(): Promise<void>;
}

/** The events that are counted by themselves, as what. */
const countedEvents: Partial<Record<EventType, UsageMetric>> = {
  'token.issued': 'tokens_issued',
};

export function createCounting({ db, clock, shard }: Pick<UsageDeps, 'db' | 'clock' | 'shard'>): Counting {
  let gathered = new Map<string, UsageRow>();

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

  const writeForAll = createGatherer({
    run: async (askers: readonly null[]) => {
      await write();
      return askers.map(() => undefined);
    },
    atMost: 10_000,
    atOnce: 1,
    waiting: 10_000,
  });

  const countTokens = (tx: Tx, issued: readonly Happening[]) => {
    if (issued.length === 0) return;
    const rows = new Map<string, TokenRow>();
    for (const { organizationId, agentId, timestamp: time } of issued) {
      const tokens = (rows.get(agentId)?.tokens ?? 0) + 1;
      rows.set(agentId, { organizationId, agentId, time, tokens });
    }
    insertTokensAtCommit(tx, [...rows.values()], shard);
  };

  return {
    count(organizationId, agentId, metric, quantity = 1) {
      add(gathered, { organizationId, agentId, day: dayOf(clock.now()), metric, quantity });
    },
    listener: {
      async inTransaction(tx, happenings) {
        const rows = new Map<string, UsageRow>();
        for (const { type, organizationId, agentId, timestamp } of happenings) {
          const metric = countedEvents[type];
          if (metric)
            add(rows, { organizationId, agentId, day: timestamp.slice(0, 10), metric, quantity: 1 });
        }
        if (rows.size > 0) insertUsageAtCommit(tx, [...rows.values()], shard);
        countTokens(
          tx,
          happenings.filter(({ type }) => type === 'token.issued'),
        );
      },
    },
    flush: () => writeForAll(null),
  };
}

function add(rows: Map<string, UsageRow>, row: UsageRow): void {
  const key = `${row.metric} ${row.day} ${row.organizationId} ${row.agentId}`;
  const there = rows.get(key);
  rows.set(key, there ? { ...there, quantity: there.quantity + row.quantity } : row);
}
