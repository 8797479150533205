/**
 * Converts Stripe's events and subscriptions into ours. Their format depends on the API version of the webhook endpoint, so every
 * field is checked; an object that cannot be parsed is ignored.
 */
import { isUuid } from '../../kernel/ids.ts';
import type {
  PaidTier,
  PaymentEvent,
  SubscriptionState,
  SubscriptionStatus,
} from '../../kernel/ports/payments.ts';

type Prices = Readonly<Record<PaidTier, string>>;

/** Unpaid subscriptions are `incomplete`: a payment makes them active again. */
const statuses: Readonly<Record<string, SubscriptionStatus>> = {
  active: 'active',
  trialing: 'active',
  past_due: 'past_due',
  incomplete: 'incomplete',
  unpaid: 'incomplete',
  paused: 'incomplete',
  canceled: 'canceled',
  incomplete_expired: 'canceled',
};

const maxIdLength = 255;
/** The end of the year 9999, the last one in ISO 8601 times of four digits. */
const maxSeconds = 253_402_300_799;

/** Undefined when the value is not an event. */
export function eventOf(event: unknown, prices: Prices): PaymentEvent | undefined {
  const eventId = idOf(field(event, 'id'));
  const type = field(event, 'type');
  const createdAt = timeOf(field(event, 'created'));
  if (eventId === undefined || typeof type !== 'string' || createdAt === undefined) return undefined;
  const concernsSubscription = /^customer\.subscription\.(created|updated|deleted|paused|resumed)$/.test(
    type,
  );
  const subscription = concernsSubscription
    ? stateOf(field(field(event, 'data'), 'object'), prices)
    : undefined;
  return { eventId, type: type.slice(0, maxIdLength), createdAt, subscription };
}

/** Undefined when the value is not a subscription. */
export function stateOf(subscription: unknown, prices: Prices): SubscriptionState | undefined {
  const status = statusOf(field(subscription, 'status'));
  const subscriptionId = idOf(subscription);
  const customerId = idOf(field(subscription, 'customer'));
  const subscribedAt = timeOf(field(subscription, 'created'));
  if (!status || !subscriptionId || !customerId || !subscribedAt) return undefined;
  const { item, tier } = planItem(field(field(subscription, 'items'), 'data'), prices);
  const metadata = field(subscription, 'metadata');
  const periodEnd = field(item, 'current_period_end') ?? field(subscription, 'current_period_end');
  const hasEndDate = timeOf(field(subscription, 'cancel_at')) !== undefined;
  return {
    subscriptionId,
    customerId,
    organizationId: uuidOf(field(metadata, 'organization_id')),
    agentId: uuidOf(field(metadata, 'agent_id')),
    tier,
    status,
    currentPeriodEnd: timeOf(periodEnd) ?? null,
    cancelAtPeriodEnd:
      status !== 'canceled' && (field(subscription, 'cancel_at_period_end') === true || hasEndDate),
    subscribedAt,
  };
}

/** The item for one of our plans, else the first: a subscription may contain other items. */
function planItem(items: unknown, prices: Prices): { item: unknown; tier: PaidTier | undefined } {
  const all = (Array.isArray(items) ? items : []).map((item: unknown) => ({
    item,
    tier: tierOf(idOf(field(item, 'price')), prices),
  }));
  return all.find(({ tier }) => tier !== undefined) ?? all[0] ?? { item: undefined, tier: undefined };
}

const statusOf = (word: unknown): SubscriptionStatus | undefined =>
  typeof word === 'string' && Object.hasOwn(statuses, word) ? statuses[word] : undefined;

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

/** An id, or the expanded object that contains it. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'string' ? value : field(value, 'id');
  return typeof id === 'string' && new RegExp(`^[\\w-]{1,${maxIdLength}}$`).test(id) ? id : undefined;
}

const uuidOf = (value: unknown): string | undefined =>
  typeof value === 'string' && isUuid(value) ? value.toLowerCase() : undefined;

const timeOf = (seconds: unknown): string | undefined =>
  typeof seconds === 'number' && seconds > 0 && seconds <= maxSeconds
    ? new Date(Math.round(seconds * 1000)).toISOString()
    : undefined;

const tierOf = (price: string | undefined, prices: Prices): PaidTier | undefined =>
  (Object.keys(prices) as PaidTier[]).find((tier) => prices[tier] === price);
