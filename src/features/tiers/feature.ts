/**
 * Tiers: what an organization's plan allows, and the refusal when it is used up: API calls in the guard, tokens where they
 * are issued. Owns no table: plans are the organizations', counts the usage's, places for agents the agents' and
 * payment the billing's affair.
 */
import { createCallQuota } from './call-quota.ts';
import type { TierDeps, Tiers } from './deps.ts';
import { tierRoutes } from './routes.ts';
import { createTierService } from './service.ts';
import { createTokenQuota } from './token-quota.ts';

export function createTiers(deps: TierDeps): Tiers {
  const calls = createCallQuota(deps);
  const service = createTierService(deps, calls);
  return {
    ...calls,
    standing: service.standing,
    checkTokens: createTokenQuota(deps),
    routes: tierRoutes(service),
  };
}
