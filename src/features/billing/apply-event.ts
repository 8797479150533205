/**
 * Applies a payment event once, in one transaction: records the event, updates the subscription, changes the plan. It is idempotent:
 * the provider may send an event again. Nothing else changes a plan. When the event alone cannot decide, the provider is asked for the current state, outside of any transaction, and
 * the event is applied again with the answer.
 */

import { isDeepStrictEqual } from 'node:util';
import type { PlanTier } from '../../contract/limits.ts';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { nilUuid } from '../../kernel/ids.ts';
import {
  type PaidTier,
  type PaymentEvent,
  type PaymentProvider,
  PaymentsUnavailable,
  type ProviderName,
  type SubscriptionState,
} from '../../kernel/ports/payments.ts';
import { decide, decideAfterLookup, grantedTierOf, isAbove, planAfter } from './event-decision.ts';
import type { BillingDeps } from './feature.ts';
import type { Outcome } from './schema.ts';
import {
  findOwner,
  findSubscription,
  insertEvent,
  type StoredSubscription,
  saveSubscription,
} from './store.ts';

export interface EventSource {
  readonly name: ProviderName;
  readonly find: PaymentProvider['find'];
}

/** `confirmOrder` runs first in the same transaction, for an order that was just confirmed; when it throws, nothing is applied. */
export type ApplyEvent = (
  actor: Actor,
  source: EventSource,
  event: PaymentEvent,
  confirmOrder?: (tx: Tx) => Promise<void>,
) => Promise<Outcome>;

export function createApplyEvent({ db, clock, ledger, log, organizations }: BillingDeps): ApplyEvent {
  const ownerOf = async (tx: Tx, source: EventSource, reported: SubscriptionState) => {
    const owner = await findOwner(tx, source.name, reported);
    if (owner?.bySubscription) return owner.organizationId;
    // Not one of our prices: another business uses the same Stripe account.
    if (reported.tier === undefined) return undefined;
    return reported.organizationId ?? owner?.organizationId;
  };

  const warnOfSecondSubscription = (
    stored: StoredSubscription | undefined,
    { subscriptionId }: TieredSubscription,
  ) => {
    if (!stored || stored.grantedTier === null || stored.subscriptionId === subscriptionId) return;
    log.warn(
      { organizationId: stored.organizationId, subscriptionId, replaced: stored.subscriptionId },
      'organization has two subscriptions; the later one counts, the other is still charged',
    );
  };

  /** Saves the subscription and sets the plan; writes one audit event if either has changed. */
  const saveAndSetPlan = async (
    tx: Tx,
    actor: Actor,
    now: StoredSubscription,
    context: {
      plan: PlanTier;
      stored: StoredSubscription | undefined;
      /** An order was just confirmed; otherwise the provider reports a change of a subscription. */
      ordered: boolean;
      agentId: string;
      cause: object;
    },
  ) => {
    const { plan, stored, ordered, agentId } = context;
    const changed = !stored || auditedFields.some((name) => stored[name] !== now[name]);
    await saveSubscription(tx, { ...now, updatedAt: changed ? now.updatedAt : stored.updatedAt });
    const { organizationId } = now;
    const metadata = {
      ...Object.fromEntries(auditedFields.map((name) => [name, now[name]])),
      ...context.cause,
    };
    const { grantedTier } = now;
    const raised = ordered && grantedTier !== null && isAbove(grantedTier, plan);
    const planTier = raised ? grantedTier : planAfter(plan, stored?.grantedTier ?? null, grantedTier);
    const planChanged = await organizations.setPlan(
      tx,
      { ...actor, agentId },
      organizationId,
      planTier,
      metadata,
    );
    if (!planChanged && changed)
      await ledger.record(tx, actor, 'billing.subscription_updated', { organizationId, agentId, metadata });
  };

  /** Throws LookupNeeded, and applies nothing, when the event cannot decide and there is no lookup. */
  const applyOnce = (
    [actor, source, event, confirmOrder]: Parameters<ApplyEvent>,
    lookup?: ProviderLookup,
  ): Promise<Outcome> =>
    db.transaction(async (tx) => {
      await confirmOrder?.(tx);
      const { eventId, type, createdAt, subscription } = event;
      if (!subscription) return 'ignored';
      const receivedAt = isoTime(clock);
      const organizationId = await ownerOf(tx, source, subscription);
      // Locks the organization before the event, like all transactions with both, so that they do not deadlock.
      const plan = organizationId && (await organizations.lockOrganization(tx, organizationId));
      if (!(await insertEvent(tx, { provider: source.name, eventId, type, receivedAt }))) return 'repeated';

      if (organizationId === undefined && subscription.tier === undefined) return 'ignored';
      if (!organizationId || !plan) {
        log.warn({ eventId, type, organizationId }, 'payment event for an unknown organization; not applied');
        return 'unknown';
      }
      const stored = await findSubscription(tx, organizationId);
      const reported = withTier(subscription, stored);
      const state = reported && stateToApply(stored, reported, createdAt, lookup);
      if (!state) return 'late';
      warnOfSecondSubscription(stored, state);

      const { organizationId: _, agentId: orderedBy = subscription.agentId, ...rest } = state;
      const now = { ...rest, organizationId, provider: source.name, grantedTier: grantedTierOf(state) };
      await saveAndSetPlan(
        tx,
        actor,
        { ...now, asOf: createdAt, updatedAt: receivedAt },
        {
          plan: plan.planTier,
          stored,
          ordered: confirmOrder !== undefined,
          agentId: actor.agentId ?? orderedBy ?? nilUuid,
          cause: { billingEvent: type, billingEventId: eventId },
        },
      );
      return 'applied';
    });

  return async (...args) => {
    try {
      return await applyOnce(args);
    } catch (error) {
      if (!(error instanceof LookupNeeded)) throw error;
      const [, source] = args;
      return applyOnce(args, { stored: error.stored, answer: await source.find(error.subscriptionId) });
    }
  };
}

/** The provider's answer, and the stored subscription at the time of the lookup. */
interface ProviderLookup {
  readonly stored: StoredSubscription;
  readonly answer: SubscriptionState | undefined;
}

class LookupNeeded extends Error {
  readonly stored: StoredSubscription;
  readonly subscriptionId: string;

  constructor(stored: StoredSubscription, subscriptionId: string) {
    super('the event cannot decide; the provider must be asked for the state of the subscription');
    this.stored = stored;
    this.subscriptionId = subscriptionId;
  }
}

/** The state to save; undefined when the stored one is newer. */
function stateToApply(
  stored: StoredSubscription | undefined,
  reported: TieredSubscription,
  reportedAt: string,
  lookup: ProviderLookup | undefined,
): TieredSubscription | undefined {
  const decision = decide(stored, reported, reportedAt);
  if (decision !== 'lookup' || !stored) return decision === 'apply' ? reported : undefined;
  if (!lookup) throw new LookupNeeded(stored, reported.subscriptionId);
  // A concurrent event may have stored a later answer. The provider repeats this event.
  if (lookup.answer && !isDeepStrictEqual(lookup.stored, stored))
    throw new PaymentsUnavailable('subscription, it changed during the lookup');
  const now = (lookup.answer && withTier(lookup.answer, stored)) ?? reported;
  return decideAfterLookup(stored, now) === 'apply' ? now : undefined;
}

const auditedFields = [
  'provider',
  'subscriptionId',
  'tier',
  'status',
  'currentPeriodEnd',
  'cancelAtPeriodEnd',
] as const;

type TieredSubscription = SubscriptionState & { readonly tier: PaidTier };

/** A subscription with a price that we do not list (any more) keeps the tier that is stored for it. */
function withTier(
  state: SubscriptionState,
  stored: StoredSubscription | undefined,
): TieredSubscription | undefined {
  const tier = state.tier ?? (stored?.subscriptionId === state.subscriptionId ? stored.tier : undefined);
  return tier && { ...state, tier };
}
