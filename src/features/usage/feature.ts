/**
 * Usage: counts API calls, tokens and other metrics for each organization and agent. Owns `usage_days`, `token_hours` and
 * `token_months`, which quotas and analytics read, and `uncounted_tokens`, whose rows are added to them. The limits of a plan
 * belong to the tiers feature.
 */

import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { TierService } from '../tiers/service.ts';
import { createUsageCounter, type UsageCounter } from './counter.ts';
import { createDeferredCounts } from './deferred-counts.ts';
import { createCompactionLoop, createCountLoop, createFlushLoop } from './loops.ts';
import { dayOf, keptMonths, monthOf } from './period.ts';
import { usageRoutes } from './routes.ts';
import { createUsageService } from './service.ts';
import { findLastTokenDates, sumOfDay, sumTokens } from './store.ts';

export interface UsageDeps {
  readonly db: Db;
  readonly clock: Clock;
  /** The shard that this process adds to, so that processes do not wait for each other's rows. Not 0. */
  readonly shard: number;
  readonly limitsOf: TierService['planUsage'];
}

export interface Usage extends UsageCounter {
  /** Counts tokens when a plan changes. It may wait for a lock. */
  readonly planListener: LedgerListener;
  /** Counts the tokens that were issued to organizations without limits. Call it before a read of the counters. */
  countIssued(): Promise<void>;
  /** By agent id: the day (UTC) of the newest token, within the figures that are kept. It may lack the tokens of the last minute. */
  lastTokenDates(
    agents: readonly { readonly organizationId: string; readonly agentId: string }[],
  ): Promise<ReadonlyMap<string, string>>;
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

/** A random shard from 1 to 8: few enough to sum quickly. Shard 0 holds the merged rows of the past. */
export const shardFrom = (ids: Ids): number => 1 + (Number.parseInt(ids.uuid().slice(0, 2), 16) % 8);

export function createUsage(deps: UsageDeps): Usage {
  const counter = createUsageCounter(deps);
  const uncounted = createDeferredCounts(deps);
  const countIssued = uncounted.countForReader;
  return {
    ...counter,
    routes: usageRoutes(createUsageService(deps, counter, countIssued), deps.limitsOf),
    loops: [createFlushLoop(counter), createCountLoop(uncounted), createCompactionLoop(deps)],
    planListener: uncounted.planListener,
    countIssued,
    async callsOn(organizationId, now) {
      await counter.flush();
      return sumOfDay(deps.db, organizationId, dayOf(now), 'api_calls');
    },
    lastTokenDates: (agents) => findLastTokenDates(deps.db, agents, keptMonths(deps.clock.now())),
    tokensAt: (db, organizationIds, agentIds, now) =>
      sumTokens(db, organizationIds, agentIds, { day: dayOf(now), month: monthOf(now) }),
  };
}
