/**
 * Usage: how much every organization and agent has used, counted as it happens. Owns `usage_days`, `token_hours` and
 * `token_months`, the figures that limits and analytics stand on. What a plan allows is the tiers' affair.
 */
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import { type Counting, createCounting } from './counting.ts';
import { createFlushLoop, createTidyLoop } from './loops.ts';
import { dayOf, monthOf } from './period.ts';
import { usageRoutes } from './routes.ts';
import type { UsageLimits } from './schema.ts';
import { createUsageService } from './service.ts';
import { sumOfDay, sumTokens } from './store.ts';

/** Where a process counts, by lot: few enough to be added up quickly, and not 0, where past days are joined. */
export const shardFrom = (ids: Ids): number => 1 + (Number.parseInt(ids.uuid().slice(0, 2), 16) % 8);

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

export function createUsage(deps: UsageDeps): Usage {
  const counting = createCounting(deps);
  return {
    ...counting,
    routes: usageRoutes(createUsageService(deps, counting), deps.limitsOf),
    loops: [createFlushLoop(counting), createTidyLoop(deps)],
    async callsOn(organizationId, now) {
      await counting.flush();
      return sumOfDay(deps.db, organizationId, dayOf(now), 'api_calls');
    },
    tokensAt: (db, organizationIds, agentIds, now) =>
      sumTokens(db, organizationIds, agentIds, { day: dayOf(now), month: monthOf(now) }),
  };
}
