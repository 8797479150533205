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
import type { Organization } from '../organizations/schema.ts';
import type { ApplyEvent } from './apply-event.ts';
import { type EmbeddedProvider, renewedPeriodEnd, type SignedEvent } from './embedded.ts';
import { grantedTierOf, isAbove } from './event-decision.ts';
import type { BillingDeps } from './feature.ts';
import type { Checkout, Outcome, Portal, Subscription } from './schema.ts';
import { closeOpenCheckouts, insertSession, type StoredSession } from './sessions-store.ts';
import { findSubscription, type StoredSubscription, saveSubscription } from './store.ts';

export interface BillingServiceDeps extends BillingDeps {
  readonly applyEvent: ApplyEvent;
  readonly embedded: EmbeddedProvider & { readonly readEvent: ReadPaymentEvent };
  readonly stripe: { readonly provider: PaymentProvider; readonly readEvent: ReadPaymentEvent } | undefined;
  /** The provider of new orders; undefined where nothing can be ordered. */
  readonly orderProvider: ProviderName | undefined;
}

export interface BillingService {
  subscription(caller: Caller, organizationId?: string): Promise<Subscription>;
  checkout(caller: Caller, targetTier: PaidTier, organizationId?: string): Promise<Checkout>;
  portal(caller: Caller, organizationId?: string): Promise<Portal>;
  cancel(caller: Caller, organizationId?: string): Promise<void>;
  /** Cancels at the end of the paid period; false when Stripe knows no such subscription. */
  cancelAtStripe(actor: Actor & { agentId: string }, stored: StoredSubscription): Promise<boolean>;
  /** A payment event as received over HTTP. */
  receiveEvent(origin: Actor, body: Buffer | undefined, signature: unknown): Promise<Outcome>;
  /** An event that the embedded provider has signed; processed in the same way. */
  receiveEmbeddedEvent(
    actor: Actor,
    signed: SignedEvent,
    confirmOrder?: (tx: Tx) => Promise<void>,
  ): Promise<Outcome>;
  toSubscription(organization: Organization, stored: StoredSubscription | undefined): Subscription;
}

export function createBillingService(deps: BillingServiceDeps): BillingService {
  const { db, clock, ledger, requirePermission, organizations, applyEvent, embedded, stripe, orderProvider } =
    deps;

  const requireExisting = async (organizationId: string): Promise<Organization> => {
    const organization = await organizations.describe(db, organizationId);
    return organization && organization.status !== 'deleted' ? organization : fail('ORG_NOT_FOUND');
  };

  /** Only operators see another organization than their own. */
  const requireVisible = (caller: Caller, organizationId: string): Promise<Organization> =>
    organizationId === caller.organizationId || isOperator(caller)
      ? requireExisting(organizationId)
      : fail('ORG_NOT_FOUND');

  const requireManage = (caller: Caller, organizationId: string, message?: string): Promise<void> =>
    requirePermission(caller, 'billing:manage', organizationResource(organizationId), {
      foreign: 'ORG_NOT_FOUND',
      ...(message !== undefined && { message }),
    });

  const requireManageable = async (caller: Caller, organizationId: string): Promise<Organization> => {
    await requireManage(caller, organizationId);
    return requireExisting(organizationId);
  };

  /**
   * Every agent may place the first order. After it the provider has a customer with a saved means of payment, also when the
   * subscription has ended; then billing:manage is required. Returns whether the caller has shown it.
   */
  const authorizeOrder = async (
    caller: Caller,
    organizationId: string,
    stored: StoredSubscription | undefined,
  ): Promise<boolean> => {
    if (!stored) return false;
    await requireManage(
      caller,
      organizationId,
      'The organization has had a subscription; only callers with billing:manage can order another plan.',
    );
    return true;
  };

  const targetOrganization = (id: string | undefined, caller: Caller) =>
    id?.toLowerCase() ?? caller.organizationId;

  const toSubscription: BillingService['toSubscription'] = (
    { organizationId, planTier, updatedAt },
    stored,
  ) => ({
    organizationId,
    tier: planTier,
    status: stored?.status ?? 'none',
    provider: stored?.provider ?? orderProvider ?? null,
    currentPeriodEnd: stored ? periodEndOf(stored, clock.now()) : null,
    cancelAtPeriodEnd: stored?.cancelAtPeriodEnd ?? false,
    updatedAt: stored && stored.updatedAt > updatedAt ? stored.updatedAt : updatedAt,
  });

  const saveSession = (
    caller: Caller,
    kind: StoredSession['kind'],
    organizationId: string,
    page: PaymentPage,
    { targetTier, managed }: Pick<StoredSession, 'targetTier' | 'managed'>,
  ) =>
    db.transaction(async (tx) => {
      const { sessionId, expiresAt, tokenHash } = page;
      const provider = orderProvider ?? failNotConfigured();
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
    { organizationId, agentId, tier, stored }: StripeOrder,
  ): Promise<PaymentPage> => {
    const current = stored?.provider === 'stripe' ? stored : undefined;
    const isPaying = current && grantedTierOf(current) !== null;
    if (isPaying && grantedTierOf(current) === tier) {
      fail('FORBIDDEN', {
        message: `The organization pays for the ${tier} plan already; its operator has set another, and only the operator can give it back.`,
      });
    }
    for (const sessionId of await closeOpenCheckouts(db, 'stripe', organizationId, isoTime(clock)))
      await provider.close(sessionId);
    return provider.checkout({
      organizationId,
      agentId,
      tier,
      customerId: current?.customerId,
      subscriptionId: isPaying ? current.subscriptionId : undefined,
    });
  };

  const cancelAtStripe: BillingService['cancelAtStripe'] = async (actor, stored) => {
    if (stored.cancelAtPeriodEnd) return true;
    const { provider } = stripe ?? failNotConfigured();
    const { subscriptionId, status, organizationId } = stored;
    if (!(await orServiceUnavailable(provider.cancel(subscriptionId, status)))) return false;
    await db.transaction(async (tx) => {
      await organizations.lockOrganization(tx, organizationId);
      const now = await findSubscription(tx, organizationId);
      // Stripe's event may have arrived first. Only this record names the caller.
      if (now?.subscriptionId === subscriptionId && now.status !== 'canceled')
        await saveSubscription(tx, { ...now, cancelAtPeriodEnd: true, updatedAt: isoTime(clock) });
      const metadata = {
        provider: stored.provider,
        subscriptionId,
        currentPeriodEnd: stored.currentPeriodEnd,
      };
      const { agentId } = actor;
      await ledger.record(tx, actor, 'billing.cancellation_requested', { organizationId, agentId, metadata });
    });
    return true;
  };

  const receiveEmbeddedEvent: BillingService['receiveEmbeddedEvent'] = async (
    actor,
    { body, signature },
    confirmOrder,
  ) => {
    const event = (await embedded.readEvent(body, signature)) ?? failSignature();
    return applyEvent(actor, { name: 'embedded', find: async () => undefined }, event, confirmOrder);
  };

  return {
    toSubscription,
    receiveEmbeddedEvent,
    cancelAtStripe,

    async subscription(caller, id) {
      const organization = await requireVisible(caller, targetOrganization(id, caller));
      return toSubscription(organization, await findSubscription(db, organization.organizationId));
    },

    async checkout(caller, targetTier, id) {
      const { organizationId, planTier } = await requireVisible(caller, targetOrganization(id, caller));
      if (!isAbove(targetTier, planTier)) {
        fail('TIER_UPGRADE_NOT_REQUIRED', {
          message: `The organization has the plan ${planTier}; ${targetTier} is not above it.`,
          details: { current: planTier, target: targetTier },
        });
      }
      const stored = await findSubscription(db, organizationId);
      const managed = await authorizeOrder(caller, organizationId, stored);
      if (orderProvider === undefined) failNotConfigured();
      const { agentId } = caller;
      const page = stripe
        ? await orServiceUnavailable(
            orderAtStripe(stripe.provider, { organizationId, agentId, tier: targetTier, stored }),
          )
        : embedded.createPage('checkout');
      await saveSession(caller, 'checkout', organizationId, page, { targetTier, managed });
      return { checkoutUrl: page.url, sessionId: page.sessionId, expiresAt: page.expiresAt };
    },

    async portal(caller, id) {
      const { organizationId } = await requireManageable(caller, targetOrganization(id, caller));
      if (orderProvider === undefined) failNotConfigured();
      const stored = await findSubscription(db, organizationId);
      if (stripe && stored?.provider !== 'stripe') {
        fail('SUBSCRIPTION_NOT_FOUND', {
          message:
            'The organization has never had a subscription with Stripe, so there is nothing to manage there.',
        });
      }
      const page =
        stripe && stored
          ? await orServiceUnavailable(stripe.provider.portal(stored.customerId))
          : embedded.createPage('portal');
      await saveSession(caller, 'portal', organizationId, page, { targetTier: null, managed: true });
      return { portalUrl: page.url };
    },

    async cancel(caller, id) {
      const { organizationId } = await requireManageable(caller, targetOrganization(id, caller));
      const stored = await findSubscription(db, organizationId);
      if (!stored || stored.status === 'canceled') fail('SUBSCRIPTION_NOT_FOUND');
      if (stored.provider === 'embedded') await receiveEmbeddedEvent(caller, embedded.canceledEvent(stored));
      else if (!(await cancelAtStripe(caller, stored))) fail('SUBSCRIPTION_NOT_FOUND');
    },

    async receiveEvent(origin, body, signature) {
      if (orderProvider === undefined) failNotConfigured();
      if (typeof signature !== 'string' || !body || body.length === 0) return failSignature();
      if (!stripe) return receiveEmbeddedEvent(origin, { body, signature });
      const event = (await stripe.readEvent(body, signature)) ?? failSignature();
      return orServiceUnavailable(applyEvent(origin, { name: 'stripe', find: stripe.provider.find }, event));
    },
  };
}

/** `stored` is the subscription that the authorization was based on; a second read could return another one. */
interface StripeOrder extends Pick<Order, 'organizationId' | 'agentId' | 'tier'> {
  readonly stored: StoredSubscription | undefined;
}

/** The embedded provider sends no renewal events, so the period is computed. */
function periodEndOf({ provider, status, currentPeriodEnd }: StoredSubscription, now: number): string | null {
  const renews = provider === 'embedded' && status === 'active' && currentPeriodEnd !== null;
  return renews ? renewedPeriodEnd(currentPeriodEnd, now) : currentPeriodEnd;
}

function failNotConfigured(): never {
  return fail('BILLING_DISABLED', {
    message:
      'Billing is not configured on this instance, so nothing can be ordered; the operator has to set the STRIPE_ variables, or BILLING_ALLOW_EMBEDDED for plans without payment.',
  });
}

function failSignature(): never {
  throw validationError('header', [
    {
      in: 'header',
      field: 'Stripe-Signature',
      message: 'does not sign this body with our secret, within 300 seconds of now',
    },
  ]);
}

const orServiceUnavailable = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    if (!(error instanceof PaymentsUnavailable)) throw error;
    return fail('SERVICE_UNAVAILABLE', {
      message: 'The payment provider did not do what was asked; try again shortly.',
      headers: { 'retry-after': '5' },
      cause: error,
    });
  });
