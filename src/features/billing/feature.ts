/**
 * Billing: the subscriptions of organizations and their payment. Owns the subscriptions, the checkout and portal sessions, and the
 * record of processed payment events. Only a signed payment event changes a plan, through the organizations feature; the tiers
 * feature enforces it. The payment provider is Stripe (adapters/stripe/stripe.ts) or the embedded one, which takes no money.
 */

import { createApplyEvent } from './apply-event.ts';
import type { Billing, BillingDeps, ProviderOptions } from './deps.ts';
import { createEmbeddedProvider, embeddedPrices, embeddedSecret } from './embedded.ts';
import { createEmbeddedPages } from './embedded-pages.ts';
import { billingLoops } from './loops.ts';
import { billingRoutes } from './routes.ts';
import { createBillingService } from './service.ts';

export function createBilling(deps: BillingDeps, options: ProviderOptions): Billing {
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
    checkout: (caller, targetTier) => service.checkout(caller, targetTier),
  };
}
