import { definePage } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';
import { agentTypes } from '../../components/agent-types.ts';
import { listingStatuses } from './listing.ts';

export const views = ['find', 'own'] as const;

export const marketplacePage = definePage({
  path: '/marketplace',
  title: 'Marketplace',
  guide: 'guides/marketplace',
  navigation: { group: 'Integrations', order: 9, icon: 'marketplace' },
  search: {
    view: oneOfOr(views, 'find'),
    q: text(),
    capability: text(),
    category: text(),
    agentType: oneOf(agentTypes),
    verified: oneOf(['true', 'false']),
    status: oneOf(listingStatuses),
    page: wholeNumber(1),
    selected: text(),
    create: flag(),
  },
  commands: [
    {
      label: 'List an agent on the marketplace',
      keywords: 'publish listing create',
      scope: 'agents:write',
      search: { view: 'own', create: '1' },
    },
  ],
});
