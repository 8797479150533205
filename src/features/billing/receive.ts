/**
 * What the provider says happened, acted on once and in one transaction: the event is remembered, the subscription brought
 * up to date, the plan changed. Nothing else changes a plan.
 */
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/db.ts';
import { isUuid } from '../../kernel/ids.ts';
import type {
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
  const ownerOf = async (tx: Tx, source: Source, state: SubscriptionState) => {
    const owner = await findOwner(tx, source.name, state);
    if (owner?.bySubscription) return owner.organizationId;
    return state.organizationId ?? owner?.organizationId;
  };

  /** What there is to apply; undefined when we know better already. */
  const upToDate = async (
    source: Source,
    known: StoredSubscription | undefined,
    told: SubscriptionState,
    toldAt: string,
  ): Promise<SubscriptionState | undefined> => {
    const verdict = judge(known, told, toldAt);
    if (verdict !== 'ask' || !known) return verdict === 'apply' ? told : undefined;
    const now = (await source.find(told.subscriptionId)) ?? told;
    return judgeAnswer(known, now) === 'apply' ? now : undefined;
  };

  return (actor, source, event, alongside) =>
    db.transaction(async (tx) => {
      await alongside?.(tx);
      const { eventId, type, createdAt, subscription: told } = event;
      if (!told) return 'ignored';
      const receivedAt = isoTime(clock);
      if (!(await insertEvent(tx, { provider: source.name, eventId, type, receivedAt }))) return 'repeated';

      const organizationId = await ownerOf(tx, source, told);
      const plan =
        organizationId === undefined ? undefined : await organizations.holdPlan(tx, organizationId);
      if (organizationId === undefined || !plan) {
        log.warn(
          { eventId, type, organizationId },
          'a payment event concerns no organization that exists here',
        );
        return 'unknown';
      }
      const known = await findSubscription(tx, organizationId);
      const state = await upToDate(source, known, told, createdAt);
      if (!state) return 'late';
      if (known && known.grantedTier !== null && known.subscriptionId !== state.subscriptionId) {
        log.warn(
          { organizationId, subscriptionId: state.subscriptionId, replaced: known.subscriptionId },
          'an organization has two subscriptions; the later one counts, and the other is still paid for',
        );
      }

      const gives = givenBy(state);
      const { subscriptionId, customerId, tier, status, currentPeriodEnd, cancelAtPeriodEnd, subscribedAt } =
        state;
      const shown = {
        provider: source.name,
        subscriptionId,
        tier,
        status,
        currentPeriodEnd,
        cancelAtPeriodEnd,
      };
      const saved = { ...shown, organizationId, customerId, grantedTier: gives, subscribedAt };
      const changed =
        !known || Object.entries(shown).some(([key, value]) => known[key as keyof typeof shown] !== value);
      const updatedAt = changed || !known ? receivedAt : known.updatedAt;
      await saveSubscription(tx, { ...saved, asOf: createdAt, updatedAt });

      const agentId = actor.agentId ?? [state.agentId, told.agentId].find((id) => id && isUuid(id)) ?? nobody;
      const planTier = planAfter(plan.planTier, known?.grantedTier ?? null, gives);
      const because = { ...shown, billingEvent: type, billingEventId: eventId };
      const planChanged = await organizations.setPlan(
        tx,
        { ...actor, agentId },
        organizationId,
        planTier,
        because,
      );
      if (!planChanged && changed)
        await ledger.record(tx, actor, 'billing.subscription_updated', {
          organizationId,
          agentId,
          metadata: because,
        });
      return 'applied';
    });
}
