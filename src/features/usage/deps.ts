import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Counting } from './counting.ts';
import type { UsageLimits } from './schema.ts';

export interface UsageDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** Where this process counts; others count elsewhere, so that they do not wait for each other. Not 0. */
  readonly shard: number;
  /** The caller's plan, and what is left of it. */
  limitsOf(caller: Caller): Promise<UsageLimits>;
}

export interface Usage extends Counting {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  /** Calls of the organization on the day of `now`, those that this process has not written yet included. */
  callsOn(organizationId: string, now: number): Promise<number>;
  /** Tokens issued, by id: those of each organization on the day of `now`, and of each agent in its month. */
  tokensAt(
    db: Queryable,
    organizationIds: readonly string[],
    agentIds: readonly string[],
    now: number,
  ): Promise<ReadonlyMap<string, number>>;
}
