/**
 * Billing: the subscriptions of organizations and their payment. Owns the subscriptions, the checkout and portal sessions, and the
 * record of processed payment events. Only a signed payment event changes a plan, through the organizations feature; the tiers
 * feature enforces it. The payment provider is Stripe (adapters/stripe/stripe.ts) or the embedded one, which takes no money.
 */

import type { Clock } from '../../kernel/clock.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { PaidTier, PaymentProvider, ReadPaymentEvent } from '../../kernel/ports/payments.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { createApplyEvent } from './apply-event.ts';
import { createEmbeddedProvider, embeddedPrices, embeddedSecret } from './embedded.ts';
import { createEmbeddedPages } from './embedded-pages.ts';
import { billingLoops } from './loops.ts';
import { billingRoutes } from './routes.ts';
import { createBillingService } from './service.ts';

export interface BillingDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log'> {
  readonly requirePermission: RequirePermission;
  readonly organizations: Pick<
    OrganizationService,
    'describe' | 'deletedAmong' | 'lockOrganization' | 'setPlan'
  >;
}

interface ProviderOptions {
  readonly baseUrl: string;
  readonly stripe: { readonly provider: PaymentProvider; readonly readEvent: ReadPaymentEvent } | undefined;
  /** Whether plans can be ordered without Stripe, and without payment. */
  readonly allowEmbedded: boolean;
  readonly seal: (text: string) => string;
  readonly createEventReader: (options: {
    secret: string;
    prices: Readonly<Record<PaidTier, string>>;
    clock: Clock;
  }) => ReadPaymentEvent;
}

export function createBilling(deps: BillingDeps, options: ProviderOptions) {
  const { clock, ids } = deps;
  const secret = embeddedSecret(options.seal);
  const embedded = {
    ...createEmbeddedProvider({ secret, baseUrl: options.baseUrl, clock, ids }),
    readEvent: options.createEventReader({ secret, prices: embeddedPrices, clock }),
  };
  const serviceDeps = {
    ...deps,
    applyEvent: createApplyEvent(deps),
    embedded,
    stripe: options.stripe,
    orderProvider: options.stripe
      ? ('stripe' as const)
      : options.allowEmbedded
        ? ('embedded' as const)
        : undefined,
  };
  const service = createBillingService(serviceDeps);
  const pages = createEmbeddedPages(serviceDeps, service);
  return {
    routes: billingRoutes(service, pages),
    loops: billingLoops(serviceDeps, service),
    /** Starts the payment of a plan; for `POST /tiers/upgrade`. */
    checkout: service.checkout,
  };
}

export type Billing = ReturnType<typeof createBilling>;
