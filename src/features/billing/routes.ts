import Type from '../../contract/json-schema.ts';
import { pagePolicy } from '../../kernel/http/responses/html-page.ts';
import { bearer, open, ownBearer, type RouteEntry, rootRoute, route } from '../../kernel/http/route.ts';
import type { EmbeddedPages } from './embedded-pages.ts';
import { returnPage } from './pages.ts';
import {
  Checkout,
  Confirmation,
  EventBody,
  NewCheckout,
  NewPortal,
  PageParams,
  Portal,
  Received,
  Subscription,
  SubscriptionQuery,
} from './schema.ts';
import type { BillingService } from './service.ts';

const tag = 'Billing';
const limit = 'caller';
const page = {
  tag,
  limit,
  access: open(),
  hidden: true,
  produces: 'text/html; charset=utf-8',
} as const;

type SetHeader = (name: string, value: string) => void;
const setPagePolicy = (header: SetHeader) => header('content-security-policy', pagePolicy);

/** The errors of routes that manage a subscription. */
const subscriptionErrors = [
  'FORBIDDEN',
  'ORG_NOT_FOUND',
  'SUBSCRIPTION_NOT_FOUND',
  'BILLING_DISABLED',
  'SERVICE_UNAVAILABLE',
] as const;

export const billingRoutes = (billing: BillingService, pages: EmbeddedPages): RouteEntry[] => [
  route({
    id: 'getSubscription',
    summary: "The organization's plan and subscription",
    tag,
    method: 'GET',
    url: '/billing/subscription',
    access: bearer(),
    limit,
    quota: 'free',
    schema: { query: SubscriptionQuery, response: { 200: Subscription } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, query }) => billing.subscription(caller, query.organization_id),
  }),
  route({
    id: 'startCheckout',
    summary: 'Start paying for a higher plan',
    description:
      'The plan changes when the payment is confirmed. After the first order the policies must permit `billing:manage`.',
    tag,
    method: 'POST',
    url: '/billing/checkout',
    access: ownBearer(),
    limit,
    quota: 'free',
    schema: { body: NewCheckout, response: { 200: Checkout } },
    errors: [
      'FORBIDDEN',
      'TIER_UPGRADE_NOT_REQUIRED',
      'ORG_NOT_FOUND',
      'BILLING_DISABLED',
      'SERVICE_UNAVAILABLE',
    ],
    handler: ({ caller, body }) => billing.checkout(caller, body.target_tier, body.organization_id),
  }),
  route({
    id: 'openBillingPortal',
    summary: 'Get the URL of a page for payment, invoices and the plan; for admins of the organization',
    tag,
    method: 'POST',
    url: '/billing/portal',
    access: bearer(),
    limit,
    quota: 'free',
    optionalBody: true,
    schema: { body: NewPortal, response: { 200: Portal } },
    errors: subscriptionErrors,
    handler: ({ caller, body }) => billing.portal(caller, body.organization_id),
  }),
  route({
    id: 'cancelSubscription',
    summary: 'End the subscription at the end of the paid period; for admins of the organization',
    tag,
    method: 'DELETE',
    url: '/billing/subscription',
    access: bearer(),
    limit,
    quota: 'free',
    schema: { query: SubscriptionQuery, response: { 204: Type.Null() } },
    errors: subscriptionErrors,
    handler: ({ caller, query }) => billing.cancel(caller, query.organization_id),
  }),
  route({
    id: 'receiveBillingEvent',
    summary: 'Receives payment events from Stripe: signed, each processed once',
    tag,
    method: 'POST',
    url: '/billing/webhooks/stripe',
    access: open(),
    limit,
    accepts: 'raw',
    schema: { body: EventBody, response: { 200: Received } },
    errors: ['BILLING_DISABLED', 'SERVICE_UNAVAILABLE'],
    handler: async ({ origin, body, headers }) => ({
      received: true,
      outcome: await billing.receiveEvent(origin, body, headers['stripe-signature']),
    }),
  }),
  rootRoute({
    ...page,
    id: 'checkoutPage',
    summary: "The embedded provider's page for one order",
    method: 'GET',
    url: '/billing/checkout/:token',
    schema: { params: PageParams, response: { 200: Type.String() } },
    handler({ params, header }) {
      setPagePolicy(header);
      return pages.checkout(params.token);
    },
  }),
  rootRoute({
    ...page,
    id: 'confirmCheckout',
    summary: 'Confirms that order, once',
    method: 'POST',
    url: '/billing/checkout/:token',
    accepts: 'form',
    schema: { params: PageParams, body: Confirmation, response: { 200: Type.String() } },
    handler({ params, origin, header }) {
      setPagePolicy(header);
      return pages.confirm(origin, params.token);
    },
  }),
  rootRoute({
    ...page,
    id: 'portalPage',
    summary: "The embedded provider's page about a subscription",
    method: 'GET',
    url: '/billing/portal/:token',
    schema: { params: PageParams, response: { 200: Type.String() } },
    handler({ params, header }) {
      setPagePolicy(header);
      return pages.portal(params.token);
    },
  }),
  rootRoute({
    ...page,
    id: 'billingReturn',
    summary: 'Where a payment provider sends people back to',
    method: 'GET',
    url: '/billing/return',
    schema: { response: { 200: Type.String() } },
    handler({ header }) {
      setPagePolicy(header);
      return returnPage;
    },
  }),
];
