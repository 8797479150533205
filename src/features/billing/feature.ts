/**
 * Billing: what an organization pays for, and the way to pay. Owns the subscriptions, the pages that lead to a payment, and the
 * memory of which payment events were acted on. A plan changes by a signed event and by nothing else, and it is the
 * organizations feature that changes it; what a plan allows is for others to enforce. Who takes the money is Stripe
 * (adapters/stripe/stripe.ts) or, where it is not configured, nobody (embedded.ts).
 */

import type { Billing, BillingDeps, ProviderOptions } from './deps.ts';
import { createEmbedded, embeddedPrices, embeddedSecret } from './embedded.ts';
import { billingLoops } from './loops.ts';
import { createPageService } from './page-service.ts';
import { createAct } from './receive.ts';
import { billingRoutes } from './routes.ts';
import { createBillingService } from './service.ts';

export function createBilling(deps: BillingDeps, options: ProviderOptions): Billing {
  const { clock, ids } = deps;
  const secret = embeddedSecret(options.seal);
  const embedded = {
    ...createEmbedded({ secret, baseUrl: options.baseUrl, clock, ids }),
    readEvent: options.createEventReader({ secret, prices: embeddedPrices, clock }),
  };
  const parts = {
    ...deps,
    act: createAct(deps),
    embedded,
    stripe: options.stripe,
    takesOrders: options.stripe
      ? ('stripe' as const)
      : options.allowEmbedded
        ? ('embedded' as const)
        : undefined,
  };
  const service = createBillingService(parts);
  const pages = createPageService(parts, service);
  return {
    routes: billingRoutes(service, pages),
    loops: billingLoops(parts, service),
    checkout: (caller, targetTier) => service.checkout(caller, targetTier),
  };
}
