/**
 * Events come late, twice, in any order, and about subscriptions that were replaced. What each means for what we know:
 * a table, without I/O. `ask`: the event alone cannot say, so the provider is asked how things stand now.
 */
import { type PlanTier, planTiers } from '../../contract/limits.ts';
import type { PaidTier, SubscriptionState } from '../../kernel/ports/payments.ts';
import type { StoredSubscription } from './store.ts';

export type Verdict = 'apply' | 'late' | 'ask';

type Known = Pick<StoredSubscription, 'subscriptionId' | 'status' | 'grantedTier' | 'subscribedAt' | 'asOf'>;
type Told = Pick<SubscriptionState, 'subscriptionId' | 'status' | 'subscribedAt'> & {
  readonly tier: PaidTier;
};

/** The plan that a subscription gives. A payment that failed leaves it in force while the provider tries again. */
export const givenBy = ({ status, tier }: Pick<Told, 'status' | 'tier'>): PaidTier | null =>
  status === 'active' || status === 'past_due' ? tier : null;

export function judge(known: Known | undefined, told: Told, toldAt: string): Verdict {
  if (!known) return 'apply';
  if (known.subscriptionId === told.subscriptionId) {
    // Nothing leads out of it.
    if (known.status === 'canceled') return 'late';
    if (toldAt === known.asOf) return 'ask';
    return toldAt > known.asOf ? 'apply' : 'late';
  }
  const alive = givenBy(told) !== null;
  if (known.grantedTier !== null) return alive ? 'ask' : 'late';
  if (told.subscribedAt >= known.subscribedAt) return 'apply';
  return alive ? 'ask' : 'late';
}

/** Once the provider has said how the subscription stands now. */
export function judgeAnswer(known: Known, now: Told): Exclude<Verdict, 'ask'> {
  if (known.subscriptionId === now.subscriptionId) return 'apply';
  const counts = known.grantedTier === null || now.subscribedAt >= known.subscribedAt;
  return givenBy(now) !== null && counts ? 'apply' : 'late';
}

const rank = (tier: PlanTier) => planTiers.indexOf(tier);

export const isAbove = (tier: PlanTier, other: PlanTier) => rank(tier) > rank(other);

/**
 * The plan after a subscription gives something else than before. Where the plan is not what the subscription gave, the
 * operator has chosen it since: then a payment can raise it, and the end of one takes nothing away.
 */
export function planAfter(plan: PlanTier, gave: PaidTier | null, gives: PaidTier | null): PlanTier {
  if (gave === gives) return plan;
  if (plan === (gave ?? 'free')) return gives ?? 'free';
  return gives !== null && isAbove(gives, plan) ? gives : plan;
}
