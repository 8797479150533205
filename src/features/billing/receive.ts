/**
 * What the provider says happened, acted on once and in one transaction: the event is remembered, the subscription brought
 * up to date, the plan changed. Nothing else changes a plan. Where the provider has to be asked first, that is done outside
 * of any transaction, and then everything is looked at once more.
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
import type { BillingDeps } from './deps.ts';
import type { Outcome } from './schema.ts';
import {
  findOwner,
  findSubscription,
  insertEvent,
  type StoredSubscription,
  saveSubscription,
} from './store.ts';
import { givenBy, isAbove, judge, judgeAnswer, planAfter } from './verdict.ts';

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
    context: {
      plan: PlanTier;
      known: StoredSubscription | undefined;
      /** Somebody has just confirmed an order, rather than a provider told how a subscription goes on. */
      ordered: boolean;
      agentId: string;
      because: object;
    },
  ) => {
    const { plan, known, ordered, agentId } = context;
    const changed = !known || shownFields.some((name) => known[name] !== now[name]);
    await saveSubscription(tx, { ...now, updatedAt: changed ? now.updatedAt : known.updatedAt });
    const { organizationId } = now;
    const metadata = {
      ...Object.fromEntries(shownFields.map((name) => [name, now[name]])),
      ...context.because,
    };
    const { grantedTier } = now;
    const raised = ordered && grantedTier !== null && isAbove(grantedTier, plan);
    const planTier = raised ? grantedTier : planAfter(plan, known?.grantedTier ?? null, grantedTier);
    const told = await organizations.setPlan(tx, { ...actor, agentId }, organizationId, planTier, metadata);
    if (!told && changed)
      await ledger.record(tx, actor, 'billing.subscription_updated', { organizationId, agentId, metadata });
  };

  /** Throws MustAsk, and nothing has happened, when only the provider can say, and it has not been asked. */
  const attempt = ([actor, source, event, alongside]: Parameters<Act>, asked?: Asked): Promise<Outcome> =>
    db.transaction(async (tx) => {
      await alongside?.(tx);
      const { eventId, type, createdAt, subscription } = event;
      if (!subscription) return 'ignored';
      const receivedAt = isoTime(clock);
      const organizationId = await ownerOf(tx, source, subscription);
      // The organization before the event, as everybody does who holds both.
      const plan = organizationId && (await organizations.lockPlan(tx, organizationId));
      if (!(await insertEvent(tx, { provider: source.name, eventId, type, receivedAt }))) return 'repeated';

      if (organizationId === undefined && subscription.tier === undefined) return 'ignored';
      if (!organizationId || !plan) {
        log.warn(
          { eventId, type, organizationId },
          'a payment event concerns no organization that exists here',
        );
        return 'unknown';
      }
      const known = await findSubscription(tx, organizationId);
      const told = sold(subscription, known);
      const state = told && upToDate(known, told, createdAt, asked);
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
          ordered: alongside !== undefined,
          agentId: actor.agentId ?? orderedBy ?? nilUuid,
          because: { billingEvent: type, billingEventId: eventId },
        },
      );
      return 'applied';
    });

  return async (...what) => {
    try {
      return await attempt(what);
    } catch (error) {
      if (!(error instanceof MustAsk)) throw error;
      const [, source] = what;
      return attempt(what, { known: error.known, answer: await source.find(error.subscriptionId) });
    }
  };
}

/** What the provider answered, and what we knew when it was asked. */
interface Asked {
  readonly known: StoredSubscription;
  readonly answer: SubscriptionState | undefined;
}

class MustAsk extends Error {
  readonly known: StoredSubscription;
  readonly subscriptionId: string;

  constructor(known: StoredSubscription, subscriptionId: string) {
    super('only the provider can say how the subscription stands');
    this.known = known;
    this.subscriptionId = subscriptionId;
  }
}

/** What there is to apply; undefined when we know better already. */
function upToDate(
  known: StoredSubscription | undefined,
  told: Sold,
  toldAt: string,
  asked: Asked | undefined,
): Sold | undefined {
  const verdict = judge(known, told, toldAt);
  if (verdict !== 'ask' || !known) return verdict === 'apply' ? told : undefined;
  if (!asked) throw new MustAsk(known, told.subscriptionId);
  // Somebody may have had a later answer than this one; the event is sent again.
  if (asked.answer && !isDeepStrictEqual(asked.known, known))
    throw new PaymentsUnavailable('subscription, it changed while it was asked about');
  const now = (asked.answer && sold(asked.answer, known)) ?? told;
  return judgeAnswer(known, now) === 'apply' ? now : undefined;
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
