import type { LimitType, PlanTier } from '../../contract/limits.ts';
import type { UsageMetric } from '../../contract/usage.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Identity } from '../../kernel/http/access/identity.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import type { LimitReached, Plan } from './limits.ts';
import type { PaidTier } from './schema.ts';

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

export interface CallQuota {
  /** For the guard: counts the call, or refuses it. */
  countCall(identity: Identity): Promise<void> | void;
  usedToday(organizationId: string): Promise<number>;
}

export interface QuotaClient {
  readonly organizationId: string;
  readonly agentId: string;
  readonly planTier: PlanTier;
  readonly maxTokensPerMonth: number | null;
}

/**
 * Returns one entry per client, in their order: undefined when a token may be issued, which must then be recorded in the same
 * transaction; the limit that is reached; or `busy`, when `waiting` is false and another transaction holds the quota lock near the
 * limit.
 */
export type CheckTokens = (
  tx: Tx,
  clients: readonly QuotaClient[],
  options: { waiting: boolean },
) => Promise<readonly (LimitReached | 'busy' | undefined)[]>;

/** The limit that refuses a token of this client now. Takes no locks and counts nothing. */
export type ReachedTokenLimit = (db: Queryable, client: QuotaClient) => Promise<LimitReached | undefined>;

export interface PlanUsage {
  readonly tier: PlanTier;
  readonly limits: {
    limitType: LimitType;
    limit: number;
    used: number;
    remaining: number;
    resetsAt: string | null;
  }[];
}

export interface Tiers extends CallQuota {
  readonly routes: readonly RouteEntry[];
  readonly checkTokens: CheckTokens;
  readonly reachedTokenLimit: ReachedTokenLimit;
  hasTokenLimit(client: QuotaClient): boolean;
  /** Each limit of the caller's organization and of the caller itself, with its usage. */
  planUsage(caller: Caller): Promise<PlanUsage>;
}
