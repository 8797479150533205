/**
 * The port for whoever takes payments: Stripe (adapters/stripe/stripe.ts), or nobody (the billing feature's embedded provider).
 * Both tell what happened by signed events of the same form, and a plan changes by nothing else.
 */
import type { PlanTier } from '../../contract/limits.ts';

export type PaidTier = Exclude<PlanTier, 'free'>;
export type ProviderName = 'stripe' | 'embedded';

/** `incomplete`: there is a subscription, but it is not paid, so it gives no plan. */
export type SubscriptionStatus = 'incomplete' | 'active' | 'past_due' | 'canceled';

export interface SubscriptionState {
  readonly subscriptionId: string;
  readonly customerId: string;
  /** What we wrote on it when it was ordered; undefined when somebody else made it. */
  readonly organizationId: string | undefined;
  readonly agentId: string | undefined;
  /** By its price; undefined when that is none that we ask now. */
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
  /** When it happened at the provider; ISO 8601. */
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
  /** The customer that the organization is at this provider already. */
  readonly customerId: string | undefined;
  /** What it pays for already, which is then changed instead of paid for twice. */
  readonly subscriptionId: string | undefined;
}

export interface PaymentPage {
  readonly sessionId: string;
  readonly url: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Of the secret in the address, when the page is one of ours. */
  readonly tokenHash?: Buffer;
}

/** Every method rejects with PaymentsAway when the provider cannot be reached or refuses us. */
export interface PaymentProvider {
  checkout(order: Order): Promise<PaymentPage>;
  /** Closes a checkout that was not paid, so that nobody pays twice; as far as that is still possible. */
  close(sessionId: string): Promise<void>;
  portal(customerId: string): Promise<PaymentPage>;
  /** At the end of what is paid; at once when nothing is. False when the provider knows no such subscription. */
  cancel(subscriptionId: string, status: SubscriptionStatus): Promise<boolean>;
  /** The subscription as it is now; undefined when the provider knows no such one. */
  find(subscriptionId: string): Promise<SubscriptionState | undefined>;
}

/** Its message is for the log. It never holds what the provider said: that may repeat our key. */
export class PaymentsUnavailable extends Error {
  /** It answered, and knows nothing of what we asked about. */
  readonly missing: boolean;

  constructor(what: string, missing = false) {
    super(`the payment provider did not do what was asked: ${what}`);
    this.name = 'PaymentsAway';
    this.missing = missing;
  }
}
