import { type LimitType, limitTypes } from '../../contract/limits.ts';
import type { Caller } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import type { UsageLimits } from '../usage/schema.ts';
import type { CallQuota } from './call-quota.ts';
import type { TierDeps } from './feature.ts';
import { limitsOf, resetOf } from './limits.ts';
import type { Checkout, PaidTier, TierStatus } from './schema.ts';

export interface TierService {
  status(caller: Caller): Promise<TierStatus>;
  /** Each limit of the caller's organization and of the caller itself, with its usage. */
  planUsage(caller: Caller): Promise<UsageLimits>;
  upgrade(caller: Caller, target: PaidTier): Promise<Checkout>;
}

export function createTierService(deps: TierDeps, { usedToday }: CallQuota): TierService {
  const { db, clock, planOf, countAgents, countIssued, tokensAt, checkout } = deps;

  /** The caller is authenticated, so its organization exists. */
  const readPlan = async ({ organizationId, agentId }: Caller) => {
    await countIssued();
    const [plan = fail('ORG_NOT_FOUND'), agents, calls, tokens] = await Promise.all([
      planOf(organizationId),
      countAgents(organizationId),
      usedToday(organizationId),
      tokensAt(db, [organizationId], [agentId], clock.now()),
    ]);
    const used: Record<LimitType, number> = {
      max_agents: agents,
      api_calls_per_day: calls,
      tokens_per_day: tokens.get(organizationId) ?? 0,
      tokens_per_month: tokens.get(agentId) ?? 0,
    };
    return { tier: plan.planTier, limits: limitsOf(plan), used };
  };

  return {
    async status(caller) {
      const { tier, limits, used } = await readPlan(caller);
      return {
        tier,
        limits: {
          maxAgents: limits.max_agents,
          maxCallsPerDay: limits.api_calls_per_day,
          maxTokensPerDay: limits.tokens_per_day,
        },
        usage: {
          agentCount: used.max_agents,
          callsToday: used.api_calls_per_day,
          tokensToday: used.tokens_per_day,
        },
      };
    },

    async planUsage(caller) {
      const { tier, limits, used } = await readPlan(caller);
      const now = clock.now();
      return {
        tier,
        limits: limitTypes.map((limitType) => {
          const resetAt = resetOf(limitType, now);
          return {
            limitType,
            limit: limits[limitType],
            used: used[limitType],
            remaining: Math.max(0, limits[limitType] - used[limitType]),
            resetsAt: resetAt === null ? null : new Date(resetAt).toISOString(),
          };
        }),
      };
    },

    upgrade: (caller, target) => checkout(caller, target),
  };
}
