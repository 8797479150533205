/** Payment events as Stripe would send them, signed by its own SDK: by default with the embedded provider's secret. */
import { createPrivateKey, createPublicKey, randomUUID } from 'node:crypto';
import Stripe from 'stripe';
import { createSigner } from '../../../src/adapters/keys/keys.ts';
import { embeddedPrices, embeddedSecret } from '../../../src/features/billing/embedded.ts';
import type { Clock } from '../../../src/kernel/clock.ts';

export interface PaymentEvents {
  /** An event about a subscription to the pro plan, with these changes. */
  about(
    organizationId: string,
    subscription: Record<string, unknown>,
    event?: Record<string, unknown>,
  ): Promise<SignedEvent>;
  /** Signs any body, at the current time by default. */
  sign(body: string, at?: number): SignedEvent;
}

export interface SignedEvent {
  readonly body: string;
  readonly signature: string;
}

export async function createPaymentEvents(
  clock: Clock,
  { secret, prices = embeddedPrices }: { secret?: string; prices?: typeof embeddedPrices } = {},
): Promise<PaymentEvents> {
  const signingSecret = secret ?? embeddedSecret((await testSigner(clock)).seal);
  const sign: PaymentEvents['sign'] = (body, at = clock.now()) => ({
    body,
    signature: Stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret: signingSecret,
      timestamp: Math.floor(at / 1000),
    }),
  });
  return {
    sign,
    async about(organizationId, { tier = 'pro', ...subscription }, event = {}) {
      const now = Math.floor(clock.now()) / 1000;
      const item = { price: { id: prices[tier as 'pro'] }, current_period_end: Math.floor(now) + 2_592_000 };
      const object = {
        id: `sub_${organizationId}`,
        object: 'subscription',
        customer: `cus_${organizationId}`,
        status: 'active',
        created: 1_700_000_000,
        cancel_at_period_end: false,
        metadata: { organization_id: organizationId },
        items: { object: 'list', data: [item] },
        ...subscription,
      };
      return sign(
        JSON.stringify({
          id: `evt_${randomUUID()}`,
          object: 'event',
          type: 'customer.subscription.updated',
          created: now,
          data: { object },
          ...event,
        }),
      );
    },
  };
}

function testSigner(clock: Clock) {
  const privateKey = createPrivateKey(process.env.TEST_PRIVATE_KEY ?? '');
  const publicKey = createPublicKey(privateKey);
  return createSigner({
    privateKey,
    publicKey,
    previousPublicKeys: [],
    issuer: 'http://countersign.test',
    clock,
  });
}
