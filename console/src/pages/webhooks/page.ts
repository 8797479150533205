import { definePage } from '../../app/page.ts';
import { flag, oneOf, text, wholeNumber } from '../../app/search-params.ts';

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'dead_letter'] as const;

export const subscriptionStatuses = ['active', 'failing', 'paused'] as const;
export type ShownStatus = (typeof subscriptionStatuses)[number];

export const webhooksPage = definePage({
  path: '/webhooks',
  title: 'Webhooks',
  guide: 'guides/webhooks',
  navigation: { group: 'Integrations', order: 1, icon: 'webhooks' },
  scope: 'webhooks:read',
  search: { q: text(), status: oneOf(subscriptionStatuses), from: text(), to: text(), create: flag() },
  commands: [
    {
      label: 'Subscribe to events',
      keywords: 'webhook create new endpoint',
      scope: 'webhooks:write',
      search: { create: '1' },
    },
  ],
});

/** One subscription with its deliveries. */
export const webhookPage = definePage({
  path: '/webhooks/$webhookId',
  title: 'Webhook',
  guide: 'guides/webhooks',
  scope: 'webhooks:read',
  search: {
    status: oneOf(deliveryStatuses),
    from: text(),
    to: text(),
    page: wholeNumber(1),
    selected: text(),
    replay: flag(),
  },
});
