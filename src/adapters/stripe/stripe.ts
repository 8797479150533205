/** The payment port on Stripe's SDK. The first call imports the SDK, which takes some twenty megabytes. */
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

const clockSkewSeconds = 300;
const requestTimeoutMs = 10_000;
/** Stripe requires at least 30 minutes by its own clock. */
const checkoutSeconds = 31 * 60;
/** A portal URL must be opened within this time. */
const portalTtlMs = 5 * 60_000;

export type Prices = Readonly<Record<PaidTier, string>>;

interface StripeOptions {
  readonly secretKey: string;
  readonly prices: Prices;
  /** Stripe redirects people here afterwards. */
  readonly returnUrl: string;
  /** Overrides the address of Stripe's API. */
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
}

const loadSdk = async () => (await import('stripe')).default;

async function openSdk({ secretKey, apiUrl }: Pick<StripeOptions, 'secretKey' | 'apiUrl'>): Promise<Stripe> {
  const Sdk = await loadSdk();
  const { protocol, hostname, port } = new URL(apiUrl ?? 'https://api.stripe.com');
  return new Sdk(secretKey, {
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: requestTimeoutMs,
    maxNetworkRetries: 1,
    telemetry: false,
  });
}

/** Reads a price: it shows that the key is valid and that the price exists. The reason holds no secret. */
export async function findPriceProblem(
  options: Pick<StripeOptions, 'secretKey' | 'apiUrl'>,
  price: string,
): Promise<string | undefined> {
  try {
    const { active } = await (await openSdk(options)).prices.retrieve(price);
    return active ? undefined : 'it is not active';
  } catch (error) {
    const { type, code, statusCode } = error as Partial<Stripe.errors.StripeError>;
    return [type, code, statusCode].filter(Boolean).join(', ') || 'no answer';
  }
}

export function createStripe({
  secretKey,
  prices,
  returnUrl,
  apiUrl,
  clock,
}: StripeOptions): PaymentProvider {
  let client: Promise<Stripe> | undefined;

  /** Every failure of Stripe becomes PaymentsUnavailable, without Stripe's message. */
  const call = async <T>(operation: string, work: (stripe: Stripe) => Promise<T>): Promise<T> => {
    client ??= openSdk({ secretKey, apiUrl });
    const stripe = await client;
    try {
      return await work(stripe);
    } catch (error) {
      const { type, code, statusCode, requestId } = error as Partial<Stripe.errors.StripeError>;
      const summary = [operation, type, code, statusCode, requestId].filter(Boolean).join(', ');
      throw new PaymentsUnavailable(summary, code === 'resource_missing');
    }
  };

  const metadataOf = ({ organizationId, agentId }: Order) => ({
    organization_id: organizationId,
    agent_id: agentId,
  });

  const newSubscription = async (order: Order) => {
    const session = await call('checkout', (stripe) =>
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
    if (!session.url) throw new PaymentsUnavailable('checkout, Stripe returned no URL');
    return {
      sessionId: session.id,
      url: session.url,
      expiresAt: new Date(session.expires_at * 1000).toISOString(),
    };
  };

  /** A second subscription would be charged in addition; in the portal people confirm a change of the existing one. */
  const changeSubscription = async (order: Order, customer: string, subscription: string) => {
    const items = await call('subscription', (stripe) =>
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
    const session = await call('portal', (stripe) =>
      stripe.billingPortal.sessions.create({
        customer,
        return_url: returnUrl,
        ...(flow && { flow_data: flow }),
      }),
    );
    return {
      sessionId: session.id,
      url: session.url,
      expiresAt: new Date(clock.now() + portalTtlMs).toISOString(),
    };
  };

  return {
    checkout: (order) =>
      order.customerId !== undefined && order.subscriptionId !== undefined
        ? changeSubscription(order, order.customerId, order.subscriptionId)
        : newSubscription(order),

    async close(sessionId) {
      // Portal sessions cannot be closed. For a session that was paid, Stripe refuses this and sends an event.
      if (!sessionId.startsWith('cs_')) return;
      await call('close', (stripe) => stripe.checkout.sessions.expire(sessionId)).catch((error) => {
        if (!(error instanceof PaymentsUnavailable)) throw error;
      });
    },

    portal: (customerId) => openPortal(customerId),

    async cancel(subscriptionId, status) {
      const changed = await unlessMissing(
        call('cancel', (stripe) =>
          status === 'incomplete'
            ? stripe.subscriptions.cancel(subscriptionId)
            : stripe.subscriptions.update(subscriptionId, { cancel_at_period_end: true }),
        ),
      );
      return changed !== undefined;
    },

    async find(subscriptionId) {
      const found = await unlessMissing(
        call('subscription', (stripe) => stripe.subscriptions.retrieve(subscriptionId)),
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

/** Parsed as the SDK does: `t=…,v1=…`, the last `t` if there are several. */
const signedAt = (signature: string): number =>
  Number([...signature.matchAll(/(?:^|,)t=(\d+)/g)].at(-1)?.[1] ?? Number.NaN);

/** Verifies and parses events of Stripe, and of the embedded provider: same format, another secret. */
export function createEventReader(options: {
  secret: string;
  prices: Prices;
  clock: Clock;
}): ReadPaymentEvent {
  const { secret, prices, clock } = options;
  // Without these options a byte order mark and invalid UTF-8 would be changed, and the text would not be the signed bytes.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return async (body, signature) => {
    const { webhooks } = await loadSdk();
    try {
      const text = utf8.decode(body);
      const event: unknown = webhooks.constructEvent(
        text,
        signature,
        secret,
        clockSkewSeconds,
        undefined,
        clock.now(),
      );
      // The SDK checks only the age; a signature from the future would stay valid until then.
      if (!(signedAt(signature) <= clock.now() / 1000 + clockSkewSeconds)) return undefined;
      return eventOf(event, prices);
    } catch {
      return undefined;
    }
  };
}
