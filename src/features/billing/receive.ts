/**
 * What the provider says happened, acted on once and in one transaction: the event is remembered, the subscription brought
 * up to date, the plan changed. Nothing else changes a plan.
 */
import type { PlanTier } from '../../contract/limits.ts';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import type {
  PaidTier,
  PaymentEvent,
  PaymentProvider,
  ProviderName,
  SubscriptionState,
} from '../../kernel/payments.ts';
import type { BillingDeps } from './feature.ts';
import type { Outcome } from './schema.ts';
import {
  findOwner,
  findSubscription,
  insertEvent,
  type StoredSubscription,
  saveSubscription,
} from './store.ts';
import { givenBy, judge, judgeAnswer, planAfter } from './verdict.ts';

/** Whom the log names where nobody of ours did it. */
export const nobody = '00000000-0000-0000-0000-000000000000';

export interface Source {
  readonly name: ProviderName;
  readonly find: PaymentProvider['find'];
}

/** `alongside` is done in the same transaction, first; when it throws, nothing has happened. */
export type Act = (
  actor: Actor,
  source: Source,
  event: PaymentEvent,
  alongside?: (tx: Tx) => Promise<void>,
) => Promise<Outcome>;

export function createAct({ db, clock, ledger, log, organizations }: BillingDeps): Act {
  const ownerOf = async (tx: Tx, source: Source, told: SubscriptionState) => {
    const owner = await findOwner(tx, source.name, told);
    if (owner?.bySubscription) return owner.organizationId;
    // Somebody else's business that goes through the same account.
    if (told.tier === undefined) return undefined;
    return told.organizationId ?? owner?.organizationId;
  };

  /** What there is to apply; undefined when we know better already. */
  const upToDate = async (
    source: Source,
    known: StoredSubscription | undefined,
    told: Sold,
    toldAt: string,
  ): Promise<Sold | undefined> => {
    const verdict = judge(known, told, toldAt);
    if (verdict !== 'ask' || !known) return verdict === 'apply' ? told : undefined;
    const answer = await source.find(told.subscriptionId);
    const now = (answer && sold(answer, known)) ?? told;
    return judgeAnswer(known, now) === 'apply' ? now : undefined;
  };

  const warnOfTwo = (known: StoredSubscription | undefined, { subscriptionId }: Sold) => {
    if (!known || known.grantedTier === null || known.subscriptionId === subscriptionId) return;
    log.warn(
      { organizationId: known.organizationId, subscriptionId, replaced: known.subscriptionId },
      'an organization has two subscriptions; the later one counts, and the other is still paid for',
    );
  };

  /** The subscription as it is from now on, and the plan with it: one record of whichever changed. */
  const settle = async (
    tx: Tx,
    actor: Actor,
    now: StoredSubscription,
    context: { plan: PlanTier; known: StoredSubscription | undefined; agentId: string; because: object },
  ) => {
    const { plan, known, agentId } = context;
    const changed = !known || shownFields.some((name) => known[name] !== now[name]);
    await saveSubscription(tx, { ...now, updatedAt: changed ? now.updatedAt : known.updatedAt });
    const { organizationId } = now;
    const metadata = {
      ...Object.fromEntries(shownFields.map((name) => [name, now[name]])),
      ...context.because,
    };
    const planTier = planAfter(plan, known?.grantedTier ?? null, now.grantedTier);
    const told = await organizations.setPlan(tx, { ...actor, agentId }, organizationId, planTier, metadata);
    if (!told && changed)
      await ledger.record(tx, actor, 'billing.subscription_updated', { organizationId, agentId, metadata });
  };

  return (actor, source, event, alongside) =>
    db.transaction(async (tx) => {
      await alongside?.(tx);
      const { eventId, type, createdAt, subscription } = event;
      if (!subscription) return 'ignored';
      const receivedAt = isoTime(clock);
      if (!(await insertEvent(tx, { provider: source.name, eventId, type, receivedAt }))) return 'repeated';

      const organizationId = await ownerOf(tx, source, subscription);
      if (organizationId === undefined && subscription.tier === undefined) return 'ignored';
      const plan = organizationId && (await organizations.holdPlan(tx, organizationId));
      if (!organizationId || !plan) {
        log.warn(
          { eventId, type, organizationId },
          'a payment event concerns no organization that exists here',
        );
        return 'unknown';
      }
      const known = await findSubscription(tx, organizationId);
      const told = sold(subscription, known);
      const state = told && (await upToDate(source, known, told, createdAt));
      if (!state) return 'late';
      warnOfTwo(known, state);

      const { organizationId: _, agentId: orderedBy = subscription.agentId, ...rest } = state;
      const now = { ...rest, organizationId, provider: source.name, grantedTier: givenBy(state) };
      await settle(
        tx,
        actor,
        { ...now, asOf: createdAt, updatedAt: receivedAt },
        {
          plan: plan.planTier,
          known,
          agentId: actor.agentId ?? orderedBy ?? nobody,
          because: { billingEvent: type, billingEventId: eventId },
        },
      );
      return 'applied';
    });
}

const shownFields = [
  'provider',
  'subscriptionId',
  'tier',
  'status',
  'currentPeriodEnd',
  'cancelAtPeriodEnd',
] as const;

type Sold = SubscriptionState & { readonly tier: PaidTier };

/** A price that we no longer ask, or that somebody was given, leaves the plan as it was sold. */
function sold(state: SubscriptionState, known: StoredSubscription | undefined): Sold | undefined {
  const tier = state.tier ?? (known?.subscriptionId === state.subscriptionId ? known.tier : undefined);
  return tier && { ...state, tier };
}
