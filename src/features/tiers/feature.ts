/**
 * Tiers: enforces the quotas of an organization's plan: API calls in the guard, tokens at the token endpoint. Owns no table: the
 * organizations feature has the plans, usage has the counts, agents has the agent limit, billing has the payment.
 */

import type { UsageMetric } from '../../contract/usage.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import { type CallQuota, createCallQuota } from './call-quota.ts';
import type { Plan } from './limits.ts';
import { tierRoutes } from './routes.ts';
import type { PaidTier } from './schema.ts';
import { createTierService, type PlanUsage } from './service.ts';
import {
  type CheckTokens,
  createTokenLimitReader,
  createTokenQuota,
  hasTokenLimit,
  type QuotaClient,
  type ReachedTokenLimit,
} from './token-quota.ts';

export interface TierDeps {
  readonly db: Db;
  readonly kv: Kv;
  /** Counts in this process while `kv` is unavailable. */
  readonly fallback: Kv;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Undefined when there is no such organization. */
  planOf(organizationId: string): Promise<Plan | undefined>;
  /** Agents that count towards the plan's limit. */
  countAgents(organizationId: string): Promise<number>;
  /** Calls of the organization on the day of `now`, as counted in SQL. */
  callsOn(organizationId: string, now: number): Promise<number>;
  countUsage(organizationId: string, agentId: string, metric: UsageMetric): void;
  tokensAt(
    db: Queryable,
    organizationIds: readonly string[],
    agentIds: readonly string[],
    now: number,
  ): Promise<ReadonlyMap<string, number>>;
  /** Counts the issued tokens that are not in the counters yet: those of organizations without limits. */
  countIssued(): Promise<void>;
  /** Starts the payment of a plan; TIER_UPGRADE_NOT_REQUIRED unless it is above the present one. */
  checkout(
    caller: Caller,
    target: PaidTier,
  ): Promise<{ checkoutUrl: string; sessionId: string; expiresAt: string }>;
}

export interface Tiers extends CallQuota {
  readonly routes: readonly RouteEntry[];
  readonly checkTokens: CheckTokens;
  readonly reachedTokenLimit: ReachedTokenLimit;
  hasTokenLimit(client: QuotaClient): boolean;
  /** Each limit of the caller's organization and of the caller itself, with its usage. */
  planUsage(caller: Caller): Promise<PlanUsage>;
}

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
