/**
 * The port for payment providers: Stripe (adapters/stripe/stripe.ts), or the billing feature's embedded provider, which takes no
 * money. Both report by signed events of the same form, and only such an event changes a plan.
 */
import type { PlanTier } from '../../contract/limits.ts';

export type PaidTier = Exclude<PlanTier, 'free'>;
export type ProviderName = 'stripe' | 'embedded';

/** `incomplete`: the subscription is not paid yet, so it gives no plan. */
export type SubscriptionStatus = 'incomplete' | 'active' | 'past_due' | 'canceled';

export interface SubscriptionState {
  readonly subscriptionId: string;
  readonly customerId: string;
  /** From the metadata that we set on the order; undefined when the subscription was created elsewhere. */
  readonly organizationId: string | undefined;
  readonly agentId: string | undefined;
  /** By its price; undefined when the price is not configured. */
  readonly tier: PaidTier | undefined;
  readonly status: SubscriptionStatus;
  /** ISO 8601. */
  readonly currentPeriodEnd: string | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly subscribedAt: string;
}

export interface PaymentEvent {
  readonly eventId: string;
  readonly type: string;
  /** The provider's time; ISO 8601. */
  readonly createdAt: string;
  /** Absent from events that do not concern a subscription. */
  readonly subscription: SubscriptionState | undefined;
}

/** Undefined unless the signature covers exactly these bytes and is at most 300 seconds old. */
export type ReadPaymentEvent = (body: Buffer, signature: string) => Promise<PaymentEvent | undefined>;

export interface Order {
  readonly organizationId: string;
  readonly agentId: string;
  readonly tier: PaidTier;
  /** The organization's existing customer at this provider. */
  readonly customerId: string | undefined;
  /** The existing subscription, which is then changed instead of paid for twice. */
  readonly subscriptionId: string | undefined;
}

export interface PaymentPage {
  readonly sessionId: string;
  readonly url: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Hash of the secret in the URL, when the page is ours. */
  readonly tokenHash?: Buffer;
}

/** Every method rejects with PaymentsUnavailable when the provider cannot be reached or refuses the call. */
export interface PaymentProvider {
  checkout(order: Order): Promise<PaymentPage>;
  /** Closes an unpaid checkout, if still possible, so that the plan is not paid for twice. */
  close(sessionId: string): Promise<void>;
  portal(customerId: string): Promise<PaymentPage>;
  /** At the end of the paid period, or at once when nothing is paid. False when the provider has no such subscription. */
  cancel(subscriptionId: string, status: SubscriptionStatus): Promise<boolean>;
  /** The current subscription; undefined when the provider has none with this id. */
  find(subscriptionId: string): Promise<SubscriptionState | undefined>;
}

/** The message is for the log. It never includes the provider's response, which may repeat our key. */
export class PaymentsUnavailable extends Error {
  /** The provider answered that the object does not exist. */
  readonly missing: boolean;

  constructor(reason: string, missing = false) {
    super(`payment provider call failed: ${reason}`);
    this.name = 'PaymentsUnavailable';
    this.missing = missing;
  }
}
