import { definePage, operatorScope } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';
import { providers } from './presets.ts';

export const trustPage = definePage({
  path: '/trust',
  title: 'Trust',
  guide: 'guides/workload-identity',
  navigation: { group: 'Identity', order: 4, icon: 'trust' },
  scope: 'agents:read',
  search: {
    tab: oneOfOr(['policies', 'partners'], 'policies'),
    agentId: text(),
    provider: oneOf(providers),
    status: oneOf(['active', 'disabled']),
    from: text(),
    to: text(),
    page: wholeNumber(1),
    /** The policy or partner in the detail pane. */
    selected: text(),
    create: flag(),
  },
  commands: [
    {
      label: 'Create a trust policy',
      keywords: 'workload identity github kubernetes oidc',
      scope: 'agents:write',
      search: { create: '1' },
    },
    {
      label: 'Federation partners',
      keywords: 'identity provider',
      scope: operatorScope,
      search: { tab: 'partners' },
    },
  ],
});
