/**
 * Tiers: what an organization's plan allows, and the refusal when it is used up: API calls in the guard, tokens where they
 * are issued. Owns no table: plans are the organizations', counts the usage's, places for agents the agents' and
 * payment the billing's affair.
 */
import type { Caller } from '../../kernel/caller.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import { type CallQuota, type CallQuotaDeps, createCallQuota } from './call-quota.ts';
import type { Plan } from './limits.ts';
import { tierRoutes } from './routes.ts';
import type { PaidTier } from './schema.ts';
import { createTierService, type TierService } from './service.ts';
import { type CheckTokens, createTokenQuota, type TokenQuotaDeps } from './token-quota.ts';

export interface TierDeps extends CallQuotaDeps, TokenQuotaDeps {
  readonly db: Db;
  /** Undefined when there is no such organization. */
  planOf(organizationId: string): Promise<Plan | undefined>;
  /** Agents that take up a place in the plan. */
  countAgents(organizationId: string): Promise<number>;
  /** Starts the payment of a plan; TIER_UPGRADE_NOT_REQUIRED unless it is above the present one. */
  checkout(
    caller: Caller,
    target: PaidTier,
  ): Promise<{ checkoutUrl: string; sessionId: string; expiresAt: string }>;
}

export interface Tiers extends CallQuota, Pick<TierService, 'standing'> {
  readonly routes: readonly RouteEntry[];
  readonly checkTokens: CheckTokens;
}

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
