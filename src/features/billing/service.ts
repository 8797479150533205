import type { Actor, Caller } from '../../kernel/caller.ts';
import { isOperator } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { organization as organizationResource } from '../../kernel/policy.ts';
import {
  type Order,
  type PaidTier,
  type PaymentPage,
  type PaymentProvider,
  PaymentsUnavailable,
  type ProviderName,
  type ReadPaymentEvent,
} from '../../kernel/ports/payments.ts';
import type { BillingDeps, Described } from './deps.ts';
import { type Embedded, renewed, type SignedBody } from './embedded.ts';
import type { Act } from './receive.ts';
import type { Checkout, Outcome, Portal, Subscription } from './schema.ts';
import { insertSession, type StoredSession, takeOpenCheckouts } from './sessions-store.ts';
import { findSubscription, type StoredSubscription, saveSubscription } from './store.ts';
import { givenBy, isAbove } from './verdict.ts';

export interface BillingParts extends BillingDeps {
  readonly act: Act;
  readonly embedded: Embedded & { readonly readEvent: ReadPaymentEvent };
  readonly stripe: { readonly provider: PaymentProvider; readonly readEvent: ReadPaymentEvent } | undefined;
  /** Undefined where nothing can be ordered. */
  readonly takesOrders: ProviderName | undefined;
}

export interface BillingService {
  subscription(caller: Caller, organizationId?: string): Promise<Subscription>;
  checkout(caller: Caller, targetTier: PaidTier, organizationId?: string): Promise<Checkout>;
  portal(caller: Caller, organizationId?: string): Promise<Portal>;
  cancel(caller: Caller, organizationId?: string): Promise<void>;
  /** When what is paid for is over; false when Stripe knows no such subscription. */
  endAtStripe(actor: Actor & { agentId: string }, known: StoredSubscription): Promise<boolean>;
  /** An event as it came over the wire. */
  receive(origin: Actor, body: Buffer | undefined, signature: unknown): Promise<Outcome>;
  /** One that the embedded provider has signed; it takes the same way. */
  receiveEmbedded(actor: Actor, signed: SignedBody, alongside?: (tx: Tx) => Promise<void>): Promise<Outcome>;
  show(described: Described, known: StoredSubscription | undefined): Subscription;
}

export function createBillingService(parts: BillingParts): BillingService {
  const { db, clock, ledger, requirePermission, organizations, act, embedded, stripe, takesOrders } = parts;

  const living = async (organizationId: string): Promise<Described> => {
    const described = await organizations.describe(db, organizationId);
    return described && described.status !== 'deleted' ? described : fail('ORG_NOT_FOUND');
  };

  /** Another organization than one's own is the operator's to see. */
  const visible = (caller: Caller, organizationId: string): Promise<Described> =>
    organizationId === caller.organizationId || isOperator(caller)
      ? living(organizationId)
      : fail('ORG_NOT_FOUND');

  const requireManage = (caller: Caller, organizationId: string, message?: string): Promise<void> =>
    requirePermission(caller, 'billing:manage', organizationResource(organizationId), {
      foreign: 'ORG_NOT_FOUND',
      ...(message !== undefined && { message }),
    });

  const manageable = async (caller: Caller, organizationId: string): Promise<Described> => {
    await requireManage(caller, organizationId);
    return living(organizationId);
  };

  /**
   * The first order is open to every agent. After it the provider has a customer whose saved means of payment a page would use, also
   * when the subscription has ended. Answers whether the caller has shown the right to manage billing.
   */
  const authorizeOrder = async (
    caller: Caller,
    organizationId: string,
    known: StoredSubscription | undefined,
  ): Promise<boolean> => {
    if (!known) return false;
    await requireManage(
      caller,
      organizationId,
      'The organization has had a subscription; only callers with billing:manage can order another plan.',
    );
    return true;
  };

  const asked = (id: string | undefined, caller: Caller) => id?.toLowerCase() ?? caller.organizationId;

  const show: BillingService['show'] = ({ organizationId, planTier, updatedAt }, known) => ({
    organizationId,
    tier: planTier,
    status: known?.status ?? 'none',
    provider: known?.provider ?? takesOrders ?? null,
    currentPeriodEnd: known ? periodEndOf(known, clock.now()) : null,
    cancelAtPeriodEnd: known?.cancelAtPeriodEnd ?? false,
    updatedAt: known && known.updatedAt > updatedAt ? known.updatedAt : updatedAt,
  });

  const keepSession = (
    caller: Caller,
    kind: StoredSession['kind'],
    organizationId: string,
    page: PaymentPage,
    { targetTier, managed }: Pick<StoredSession, 'targetTier' | 'managed'>,
  ) =>
    db.transaction(async (tx) => {
      const { sessionId, expiresAt, tokenHash } = page;
      const provider = takesOrders ?? notConfigured();
      const { agentId } = caller;
      const startedAt = isoTime(clock);
      const session = {
        sessionId,
        kind,
        provider,
        organizationId,
        agentId,
        targetTier,
        managed,
        startedAt,
        expiresAt,
      };
      await insertSession(tx, { ...session, tokenHash });
      const event = kind === 'checkout' ? 'billing.checkout_started' : 'billing.portal_opened';
      const metadata = { sessionId, provider, expiresAt, ...(targetTier && { targetTier }) };
      await ledger.record(tx, caller, event, { organizationId, agentId, metadata });
    });

  const orderAtStripe = async (
    provider: PaymentProvider,
    { organizationId, agentId, tier, known }: StripeOrder,
  ): Promise<PaymentPage> => {
    const ours = known?.provider === 'stripe' ? known : undefined;
    const paying = ours && givenBy(ours) !== null;
    if (paying && givenBy(ours) === tier) {
      fail('FORBIDDEN', {
        message: `The organization pays for the ${tier} plan already; its operator has set another, and only the operator can give it back.`,
      });
    }
    for (const sessionId of await takeOpenCheckouts(db, 'stripe', organizationId, isoTime(clock)))
      await provider.close(sessionId);
    return provider.checkout({
      organizationId,
      agentId,
      tier,
      customerId: ours?.customerId,
      subscriptionId: paying ? ours.subscriptionId : undefined,
    });
  };

  const endAtStripe: BillingService['endAtStripe'] = async (actor, known) => {
    if (known.cancelAtPeriodEnd) return true;
    const { provider } = stripe ?? notConfigured();
    const { subscriptionId, status, organizationId } = known;
    if (!(await reaching(provider.cancel(subscriptionId, status)))) return false;
    await db.transaction(async (tx) => {
      await organizations.lockPlan(tx, organizationId);
      const now = await findSubscription(tx, organizationId);
      // The event that tells of it may have come first; who asked for it is known here only.
      if (now?.subscriptionId === subscriptionId && now.status !== 'canceled')
        await saveSubscription(tx, { ...now, cancelAtPeriodEnd: true, updatedAt: isoTime(clock) });
      const metadata = { provider: known.provider, subscriptionId, currentPeriodEnd: known.currentPeriodEnd };
      const { agentId } = actor;
      await ledger.record(tx, actor, 'billing.cancellation_requested', { organizationId, agentId, metadata });
    });
    return true;
  };

  const receiveEmbedded: BillingService['receiveEmbedded'] = async (
    actor,
    { body, signature },
    alongside,
  ) => {
    const event = (await embedded.readEvent(body, signature)) ?? refuseSignature();
    return act(actor, { name: 'embedded', find: async () => undefined }, event, alongside);
  };

  return {
    show,
    receiveEmbedded,
    endAtStripe,

    async subscription(caller, id) {
      const described = await visible(caller, asked(id, caller));
      return show(described, await findSubscription(db, described.organizationId));
    },

    async checkout(caller, targetTier, id) {
      const { organizationId, planTier } = await visible(caller, asked(id, caller));
      if (!isAbove(targetTier, planTier)) {
        fail('TIER_UPGRADE_NOT_REQUIRED', {
          message: `The organization has the plan ${planTier}; ${targetTier} is not above it.`,
          details: { current: planTier, target: targetTier },
        });
      }
      const known = await findSubscription(db, organizationId);
      const managed = await authorizeOrder(caller, organizationId, known);
      if (takesOrders === undefined) notConfigured();
      const { agentId } = caller;
      const page = stripe
        ? await reaching(orderAtStripe(stripe.provider, { organizationId, agentId, tier: targetTier, known }))
        : embedded.page('checkout');
      await keepSession(caller, 'checkout', organizationId, page, { targetTier, managed });
      return { checkoutUrl: page.url, sessionId: page.sessionId, expiresAt: page.expiresAt };
    },

    async portal(caller, id) {
      const { organizationId } = await manageable(caller, asked(id, caller));
      if (takesOrders === undefined) notConfigured();
      const known = await findSubscription(db, organizationId);
      if (stripe && known?.provider !== 'stripe') {
        fail('SUBSCRIPTION_NOT_FOUND', {
          message:
            'The organization has never had a subscription with Stripe, so there is nothing to manage there.',
        });
      }
      const page =
        stripe && known ? await reaching(stripe.provider.portal(known.customerId)) : embedded.page('portal');
      await keepSession(caller, 'portal', organizationId, page, { targetTier: null, managed: true });
      return { portalUrl: page.url };
    },

    async cancel(caller, id) {
      const { organizationId } = await manageable(caller, asked(id, caller));
      const known = await findSubscription(db, organizationId);
      if (!known || known.status === 'canceled') fail('SUBSCRIPTION_NOT_FOUND');
      if (known.provider === 'embedded') await receiveEmbedded(caller, embedded.ended(known));
      else if (!(await endAtStripe(caller, known))) fail('SUBSCRIPTION_NOT_FOUND');
    },

    async receive(origin, body, signature) {
      if (takesOrders === undefined) notConfigured();
      if (typeof signature !== 'string' || !body || body.length === 0) return refuseSignature();
      if (!stripe) return receiveEmbedded(origin, { body, signature });
      const event = (await stripe.readEvent(body, signature)) ?? refuseSignature();
      return reaching(act(origin, { name: 'stripe', find: stripe.provider.find }, event));
    },
  };
}

/** `known` is the subscription by which the caller was authorized: reading it again could find one that was not. */
interface StripeOrder extends Pick<Order, 'organizationId' | 'agentId' | 'tier'> {
  readonly known: StoredSubscription | undefined;
}

/** The embedded provider has nobody who would tell of a renewal. */
function periodEndOf({ provider, status, currentPeriodEnd }: StoredSubscription, now: number): string | null {
  const runs = provider === 'embedded' && status === 'active' && currentPeriodEnd !== null;
  return runs ? renewed(currentPeriodEnd, now) : currentPeriodEnd;
}

function notConfigured(): never {
  return fail('BILLING_DISABLED', {
    message:
      'Billing is not configured on this instance, so nothing can be ordered; the operator has to set the STRIPE_ variables, or BILLING_ALLOW_EMBEDDED for plans without payment.',
  });
}

function refuseSignature(): never {
  throw validationError('header', [
    {
      in: 'header',
      field: 'Stripe-Signature',
      message: 'does not sign this body with our secret, within 300 seconds of now',
    },
  ]);
}

const reaching = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    if (!(error instanceof PaymentsUnavailable)) throw error;
    return fail('SERVICE_UNAVAILABLE', {
      message: 'The payment provider did not do what was asked; try again shortly.',
      headers: { 'retry-after': '5' },
      cause: error,
    });
  });
