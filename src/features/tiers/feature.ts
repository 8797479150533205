/**
 * Tiers: enforces the quotas of an organization's plan: API calls in the guard, tokens at the token endpoint. Owns no table: the
 * organizations feature has the plans, usage has the counts, agents has the agent limit, billing has the payment.
 */

import type { Kv } from '../../kernel/ports/kv.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { AgentService } from '../agents/service.ts';
import type { Billing } from '../billing/feature.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { Usage } from '../usage/feature.ts';
import { createCallQuota } from './call-quota.ts';
import { tierRoutes } from './routes.ts';
import { createTierService } from './service.ts';
import { createTokenLimitReader, createTokenQuota, hasTokenLimit } from './token-quota.ts';

export interface TierDeps extends Pick<SharedDeps, 'db' | 'clock' | 'metrics'> {
  readonly kv: Kv;
  /** Counts in this process while `kv` is unavailable. */
  readonly fallback: Kv;
  readonly planOf: OrganizationService['planOf'];
  readonly countAgents: AgentService['countAgainstPlan'];
  readonly callsOn: Usage['callsOn'];
  readonly countUsage: Usage['count'];
  readonly tokensAt: Usage['tokensAt'];
  readonly countIssued: Usage['countIssued'];
  readonly checkout: Billing['checkout'];
}

export function createTiers(deps: TierDeps) {
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

export type Tiers = ReturnType<typeof createTiers>;
