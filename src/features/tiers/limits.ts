/** The limits of a plan, the times of their resets, and the message of a refusal. */
import { type LimitType, type PlanTier, plans, unlimited } from '../../contract/limits.ts';

export interface Plan {
  readonly planTier: PlanTier;
  /** Overrides for this organization; null means the plan's limit. */
  readonly maxAgents?: number | null;
  readonly maxTokensPerMonth: number | null;
}

export interface LimitReached {
  readonly limitType: LimitType;
  readonly limit: number;
  /** ISO 8601. */
  readonly resetsAt: string;
  /** A sentence for the refused caller. */
  readonly description: string;
}

export const limitsOf = ({ planTier, maxAgents, maxTokensPerMonth }: Plan): Record<LimitType, number> => {
  const plan = plans[planTier];
  return {
    max_agents: maxAgents ?? plan.maxAgents,
    api_calls_per_day: plan.maxCallsPerDay,
    tokens_per_day: plan.maxTokensPerDay,
    tokens_per_month: maxTokensPerMonth ?? plan.maxTokensPerMonthPerClient,
  };
};

export const isLimited = (limit: number): boolean => limit < unlimited;

const dayMs = 86_400_000;

/** Null for a limit that never resets. */
export function resetOf(limitType: LimitType, now: number): number | null {
  if (limitType === 'max_agents') return null;
  if (limitType !== 'tokens_per_month') return (Math.floor(now / dayMs) + 1) * dayMs;
  const today = new Date(now);
  return Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
}

const sentences: Readonly<Record<Exclude<LimitType, 'max_agents'>, (limit: number) => string>> = {
  api_calls_per_day: (limit) => `The organization has made its ${limit} API calls of today`,
  tokens_per_day: (limit) => `The organization has been issued its ${limit} tokens of today`,
  tokens_per_month: (limit) => `This client has been issued its ${limit} tokens of this month`,
};

export function limitReached(
  limitType: Exclude<LimitType, 'max_agents'>,
  limit: number,
  { planTier, maxTokensPerMonth = null }: Pick<Plan, 'planTier'> & Partial<Plan>,
  now: number,
): LimitReached {
  const resetsAt = new Date(resetOf(limitType, now) ?? now).toISOString();
  // A limit of the organization's own stays when its plan changes.
  const remedy =
    limitType === 'tokens_per_month' && maxTokensPerMonth !== null
      ? "The limit is the organization's own: an operator can raise its maxTokensPerMonth"
      : 'A higher plan allows more: POST /api/v1/tiers/upgrade';
  const description = `${sentences[limitType](limit)} (plan: ${planTier}); the count starts anew at ${resetsAt}. ${remedy}`;
  return { limitType, limit, resetsAt, description };
}
