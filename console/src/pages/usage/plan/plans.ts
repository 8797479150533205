/** The limits of each plan, from the contract of the server. */
import { type PlanTier, plans, planTiers, unlimited } from '../../../api/generated.ts';

export { type PlanTier, planTiers, unlimited };

/** Rows of the comparison of two plans. */
export const planRows: readonly {
  readonly label: string;
  readonly of: (tier: PlanTier) => number;
}[] = [
  { label: 'Agents', of: (tier) => plans[tier].maxAgents },
  { label: 'API calls a day', of: (tier) => plans[tier].maxCallsPerDay },
  { label: 'Tokens a day', of: (tier) => plans[tier].maxTokensPerDay },
  { label: 'Tokens a month for each agent', of: (tier) => plans[tier].maxTokensPerMonthPerClient },
];

export const limitText = (limit: number): string =>
  limit >= unlimited ? 'unlimited' : limit.toLocaleString('en');

/** The plans above this one that can be bought. */
export const plansAbove = (tier: PlanTier): readonly ('pro' | 'enterprise')[] =>
  planTiers.slice(planTiers.indexOf(tier) + 1) as ('pro' | 'enterprise')[];
