import type { UsageMetric } from '../../contract/usage.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { UsageLimits } from './schema.ts';

export interface UsageDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** The shard that this process adds to, so that processes do not wait for each other's rows. Not 0. */
  readonly shard: number;
  /** The limits of the caller's plan, and the rest of each. */
  limitsOf(caller: Caller): Promise<UsageLimits>;
}

export interface UsageCounter {
  /** Adds to a counter in memory, which is written within a second. */
  count(organizationId: string, agentId: string, metric: UsageMetric, quantity?: number): void;
  /** Counts the tokens that the ledger records as issued. */
  readonly listener: LedgerListener;
  /** Writes the counters in memory. */
  flush(): Promise<void>;
}

export interface Usage extends UsageCounter {
  /** Counts tokens when a plan changes. It may wait for a lock. */
  readonly planListener: LedgerListener;
  /** Counts the tokens that were issued to organizations without limits. Call it before a read of the counters. */
  countIssued(): Promise<void>;
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  /** Calls of the organization on the day of `now`, including the unwritten ones of this process. */
  callsOn(organizationId: string, now: number): Promise<number>;
  /**
   * Issued tokens by id: for each organization those of the day of `now`, for each agent those of its month. Exact for
   * organizations with a limit, and for others after `countIssued`.
   */
  tokensAt(
    db: Queryable,
    organizationIds: readonly string[],
    agentIds: readonly string[],
    now: number,
  ): Promise<ReadonlyMap<string, number>>;
}
