/**
 * Tiers: enforces the quotas of an organization's plan: API calls in the guard, tokens at the token endpoint. Owns no table: the
 * organizations feature has the plans, usage has the counts, agents has the agent limit, billing has the payment.
 */
import { createCallQuota } from './call-quota.ts';
import type { TierDeps, Tiers } from './deps.ts';
import { tierRoutes } from './routes.ts';
import { createTierService } from './service.ts';
import { createTokenLimitReader, createTokenQuota, hasTokenLimit } from './token-quota.ts';

export function createTiers(deps: TierDeps): Tiers {
  const calls = createCallQuota(deps);
  const service = createTierService(deps, calls);
  return {
    ...calls,
    planUsage: service.planUsage,
    checkTokens: createTokenQuota(deps),
    reachedTokenLimit: createTokenLimitReader(deps),
    hasTokenLimit,
    routes: tierRoutes(service),
  };
}
