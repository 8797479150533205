/**
 * Decides whether a payment event is applied, without I/O. Events arrive late, twice, out of order, and about subscriptions that
 * were replaced. `lookup`: the event alone cannot decide, so the provider is asked for the current state.
 */
import { type PlanTier, planTiers } from '../../contract/limits.ts';
import type { PaidTier, SubscriptionState } from '../../kernel/ports/payments.ts';
import type { StoredSubscription } from './store.ts';

export type Decision = 'apply' | 'late' | 'lookup';

type StoredState = Pick<
  StoredSubscription,
  'subscriptionId' | 'status' | 'grantedTier' | 'subscribedAt' | 'asOf'
>;
type ReportedSubscription = Pick<SubscriptionState, 'subscriptionId' | 'status' | 'subscribedAt'> & {
  readonly tier: PaidTier;
};

/** The tier that a subscription grants. It stays in force while the provider retries a failed payment. */
export const grantedTierOf = ({
  status,
  tier,
}: Pick<ReportedSubscription, 'status' | 'tier'>): PaidTier | null =>
  status === 'active' || status === 'past_due' ? tier : null;

export function decide(
  stored: StoredState | undefined,
  reported: ReportedSubscription,
  reportedAt: string,
): Decision {
  if (!stored) return 'apply';
  if (stored.subscriptionId === reported.subscriptionId) {
    // A final state.
    if (stored.status === 'canceled') return 'late';
    if (reportedAt === stored.asOf) return 'lookup';
    return reportedAt > stored.asOf ? 'apply' : 'late';
  }
  const grants = grantedTierOf(reported) !== null;
  if (stored.grantedTier !== null) return grants ? 'lookup' : 'late';
  if (reported.subscribedAt >= stored.subscribedAt) return 'apply';
  return grants ? 'lookup' : 'late';
}

/** Decides with the provider's current state of the subscription. */
export function decideAfterLookup(
  stored: StoredState,
  now: ReportedSubscription,
): Exclude<Decision, 'lookup'> {
  if (stored.subscriptionId === now.subscriptionId) return 'apply';
  const isNewer = stored.grantedTier === null || now.subscribedAt >= stored.subscribedAt;
  return grantedTierOf(now) !== null && isNewer ? 'apply' : 'late';
}

const rank = (tier: PlanTier) => planTiers.indexOf(tier);

export const isAbove = (tier: PlanTier, other: PlanTier) => rank(tier) > rank(other);

/**
 * The plan after a subscription grants another tier than before. A plan that differs from the granted tier was set by an operator:
 * then a payment can raise it, and the end of a subscription does not lower it.
 */
export function planAfter(
  plan: PlanTier,
  grantedBefore: PaidTier | null,
  grantedNow: PaidTier | null,
): PlanTier {
  if (grantedBefore === grantedNow) return plan;
  if (plan === (grantedBefore ?? 'free')) return grantedNow ?? 'free';
  return grantedNow !== null && isAbove(grantedNow, plan) ? grantedNow : plan;
}
