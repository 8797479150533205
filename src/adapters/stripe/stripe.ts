/** The payment port on Stripe's own SDK, which is loaded when it is first needed: it takes some twenty megabytes. */
import type { Stripe } from 'stripe';
import type { Clock } from '../../kernel/clock.ts';
import {
  type Order,
  type PaidTier,
  type PaymentProvider,
  PaymentsUnavailable,
  type ReadPaymentEvent,
} from '../../kernel/ports/payments.ts';
import { eventOf, stateOf } from './subscription.ts';

const toleranceSeconds = 300;
const timeoutMs = 10_000;
/** Stripe takes no less than 30 minutes, by its own clock. */
const checkoutSeconds = 31 * 60;
/** An address of the portal that nobody opens within this is no longer good. */
const portalMs = 5 * 60_000;

export type Prices = Readonly<Record<PaidTier, string>>;

export interface StripeOptions {
  readonly secretKey: string;
  readonly prices: Prices;
  /** Where people come back to. */
  readonly returnUrl: string;
  /** Instead of Stripe's own. */
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
}

const loadSdk = async () => (await import('stripe')).default;

export function createStripe({
  secretKey,
  prices,
  returnUrl,
  apiUrl,
  clock,
}: StripeOptions): PaymentProvider {
  let opened: Promise<Stripe> | undefined;
  const open = async (): Promise<Stripe> => {
    const Sdk = await loadSdk();
    const { protocol, hostname, port } = new URL(apiUrl ?? 'https://api.stripe.com');
    return new Sdk(secretKey, {
      host: hostname,
      port: port || (protocol === 'http:' ? 80 : 443),
      protocol: protocol === 'http:' ? 'http' : 'https',
      timeout: timeoutMs,
      maxNetworkRetries: 1,
      telemetry: false,
    });
  };

  /** Everything that Stripe refuses becomes one kind of failure, without its words. */
  const ask = async <T>(what: string, work: (stripe: Stripe) => Promise<T>): Promise<T> => {
    opened ??= open();
    const stripe = await opened;
    try {
      return await work(stripe);
    } catch (error) {
      const { type, code, statusCode, requestId } = error as Partial<Stripe.errors.StripeError>;
      const said = [what, type, code, statusCode, requestId].filter(Boolean).join(', ');
      throw new PaymentsUnavailable(said, code === 'resource_missing');
    }
  };

  const metadataOf = ({ organizationId, agentId }: Order) => ({
    organization_id: organizationId,
    agent_id: agentId,
  });

  const newSubscription = async (order: Order) => {
    const session = await ask('checkout', (stripe) =>
      stripe.checkout.sessions.create({
        mode: 'subscription',
        line_items: [{ price: prices[order.tier], quantity: 1 }],
        client_reference_id: order.organizationId,
        metadata: metadataOf(order),
        subscription_data: { metadata: metadataOf(order) },
        ...(order.customerId !== undefined && { customer: order.customerId }),
        expires_at: Math.floor(clock.now() / 1000) + checkoutSeconds,
        success_url: returnUrl,
        cancel_url: returnUrl,
      }),
    );
    if (!session.url) throw new PaymentsUnavailable('checkout, no address was given');
    return {
      sessionId: session.id,
      url: session.url,
      expiresAt: new Date(session.expires_at * 1000).toISOString(),
    };
  };

  /** A second subscription would be paid for beside the first; the portal lets people confirm the change of the one. */
  const changeSubscription = async (order: Order, customer: string, subscription: string) => {
    const items = await ask('subscription', (stripe) =>
      stripe.subscriptionItems.list({ subscription, limit: 1 }),
    );
    const item = items.data[0]?.id ?? '';
    return openPortal(customer, {
      type: 'subscription_update_confirm',
      subscription_update_confirm: {
        subscription,
        items: [{ id: item, price: prices[order.tier], quantity: 1 }],
      },
    });
  };

  const openPortal = async (customer: string, flow?: Stripe.BillingPortal.SessionCreateParams.FlowData) => {
    const session = await ask('portal', (stripe) =>
      stripe.billingPortal.sessions.create({
        customer,
        return_url: returnUrl,
        ...(flow && { flow_data: flow }),
      }),
    );
    return {
      sessionId: session.id,
      url: session.url,
      expiresAt: new Date(clock.now() + portalMs).toISOString(),
    };
  };

  return {
    checkout: (order) =>
      order.customerId !== undefined && order.subscriptionId !== undefined
        ? changeSubscription(order, order.customerId, order.subscriptionId)
        : newSubscription(order),

    async close(sessionId) {
      // Sessions of the portal cannot be closed. What was paid meanwhile is refused, and told by an event.
      if (!sessionId.startsWith('cs_')) return;
      await ask('close', (stripe) => stripe.checkout.sessions.expire(sessionId)).catch((error) => {
        if (!(error instanceof PaymentsUnavailable)) throw error;
      });
    },

    portal: (customerId) => openPortal(customerId),

    async cancel(subscriptionId, status) {
      const done = await unlessMissing(
        ask('cancel', (stripe) =>
          status === 'incomplete'
            ? stripe.subscriptions.cancel(subscriptionId)
            : stripe.subscriptions.update(subscriptionId, { cancel_at_period_end: true }),
        ),
      );
      return done !== undefined;
    },

    async find(subscriptionId) {
      const found = await unlessMissing(
        ask('subscription', (stripe) => stripe.subscriptions.retrieve(subscriptionId)),
      );
      return found && stateOf(found, prices);
    },
  };
}

const unlessMissing = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error) => {
    if (error instanceof PaymentsUnavailable && error.missing) return undefined;
    throw error;
  });

/** As the SDK reads it: `t=…,v1=…`, the last `t` if there are several. */
const signedAt = (signature: string): number =>
  Number([...signature.matchAll(/(?:^|,)t=(\d+)/g)].at(-1)?.[1] ?? Number.NaN);

/** Stripe's events; the embedded provider's too, which have the same form and another secret. */
export function createEventReader(options: {
  secret: string;
  prices: Prices;
  clock: Clock;
}): ReadPaymentEvent {
  const { secret, prices, clock } = options;
  // The SDK would forgive a byte order mark and bytes that are no text: then it is not these bytes that were signed.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return async (body, signature) => {
    const { webhooks } = await loadSdk();
    try {
      const text = utf8.decode(body);
      const event: unknown = webhooks.constructEvent(
        text,
        signature,
        secret,
        toleranceSeconds,
        undefined,
        clock.now(),
      );
      // The SDK minds only age; a signature of tomorrow would be good until then.
      if (!(signedAt(signature) <= clock.now() / 1000 + toleranceSeconds)) return undefined;
      return eventOf(event, prices);
    } catch {
      return undefined;
    }
  };
}
