/**
 * Usage: how much every organization and agent has used, counted as it happens. Owns `usage_days`, `token_hours` and
 * `token_months`, the figures that limits and analytics stand on. What a plan allows is the tiers' affair.
 */
import type { Ids } from '../../kernel/ids.ts';
import { createCounting } from './counting.ts';
import type { Usage, UsageDeps } from './deps.ts';
import { createFlushLoop, createTidyLoop } from './loops.ts';
import { dayOf, monthOf } from './period.ts';
import { usageRoutes } from './routes.ts';
import { createUsageService } from './service.ts';
import { sumOfDay, sumTokens } from './store.ts';

/** Where a process counts, by lot: few enough to be added up quickly, and not 0, where past days are joined. */
export const shardFrom = (ids: Ids): number => 1 + (Number.parseInt(ids.uuid().slice(0, 2), 16) % 8);

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
