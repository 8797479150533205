/** The pages of the embedded provider, and the return page of a payment provider. */
import { facts, htmlPage } from '../../kernel/http/responses/html-page.ts';
import type { Subscription } from './schema.ts';

export const checkoutPage = (order: { name: string; from: string; to: string; expiresAt: string }) =>
  htmlPage(
    `Confirm the ${order.to} plan`,
    `${facts({ Organization: order.name, 'Plan now': order.from, 'New plan': order.to, 'Open until': order.expiresAt })}
<p>This instance uses the embedded billing provider: no payment is taken.</p>
<form method="post"><button type="submit" name="confirm" value="yes">Confirm the order</button></form>`,
  );

export const confirmedPage = (order: { name: string; to: string }) =>
  htmlPage(
    'The order is confirmed',
    `${facts({ Organization: order.name, Plan: order.to })}\n<p>You can close this page.</p>`,
  );

export const portalPage = (name: string, subscription: Subscription) =>
  htmlPage(
    'Subscription',
    `${facts({
      Organization: name,
      Plan: subscription.tier,
      Status: subscription.status.replace('_', ' '),
      ...(subscription.currentPeriodEnd !== null && {
        'Current period until': subscription.currentPeriodEnd,
      }),
    })}
<p>This instance uses the embedded billing provider: there are no invoices and no means of payment to manage. To end the
subscription, call <code>DELETE /api/v1/billing/subscription</code>.</p>`,
  );

/** The return page of a payment provider. It changes nothing. */
export const returnPage = htmlPage(
  'You can close this page',
  '<p>The plan changes as soon as the payment provider confirms the payment.</p>',
);
