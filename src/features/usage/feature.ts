/**
 * Usage: counts API calls, tokens and other metrics for each organization and agent. Owns `usage_days`, `token_hours` and
 * `token_months`, which quotas and analytics read, and `uncounted_tokens`, whose rows are added to them. The limits of a plan
 * belong to the tiers feature.
 */
import type { Ids } from '../../kernel/ids.ts';
import { createUsageCounter } from './counter.ts';
import { createDeferredCounts } from './deferred-counts.ts';
import type { Usage, UsageDeps } from './deps.ts';
import { createCompactionLoop, createCountLoop, createFlushLoop } from './loops.ts';
import { dayOf, monthOf } from './period.ts';
import { usageRoutes } from './routes.ts';
import { createUsageService } from './service.ts';
import { sumOfDay, sumTokens } from './store.ts';

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
    tokensAt: (db, organizationIds, agentIds, now) =>
      sumTokens(db, organizationIds, agentIds, { day: dayOf(now), month: monthOf(now) }),
  };
}
