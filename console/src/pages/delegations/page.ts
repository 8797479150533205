import { definePage } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const delegationsPage = definePage({
  path: '/delegations',
  title: 'Delegations',
  guide: 'guides/delegation',
  navigation: { group: 'Identity', order: 3, icon: 'delegations' },
  search: {
    agentId: text(),
    role: oneOf(['delegator', 'delegatee']),
    subjectType: oneOf(['agent', 'person']),
    status: oneOfOr(['active', 'expired', 'revoked', 'all'], 'active'),
    /** For the operator. */
    organizationId: text(),
    from: text(),
    to: text(),
    page: wholeNumber(1),
    /** The chain in the detail pane. */
    selected: text(),
    view: oneOfOr(['graph', 'table'], 'graph'),
    delegate: flag(),
    /** The agent that lends in the dialog. */
    lender: text(),
  },
  commands: [
    {
      label: 'Delegate to an agent',
      keywords: 'lend scopes delegation token',
      visible: ({ role }) => role !== 'viewer',
      search: { delegate: '1' },
    },
    { label: 'Revoked delegations', keywords: 'ended', search: { status: 'revoked' } },
  ],
});
