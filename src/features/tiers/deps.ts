import type { Caller } from '../../kernel/caller.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { CallQuota, CallQuotaDeps } from './call-quota.ts';
import type { Plan } from './limits.ts';
import type { PaidTier } from './schema.ts';
import type { TierService } from './service.ts';
import type { CheckTokens, TokenQuotaDeps } from './token-quota.ts';

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
