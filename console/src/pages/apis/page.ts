import { definePage } from '../../app/page.ts';
import { flag, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const apisPage = definePage({
  path: '/apis',
  title: 'APIs',
  guide: 'guides/protecting-your-api',
  navigation: { group: 'Identity', order: 2, icon: 'apis' },
  scope: 'resources:read',
  search: { q: text(), from: text(), to: text(), page: wholeNumber(1), create: flag() },
  commands: [
    {
      label: 'Register an API',
      keywords: 'resource audience scopes create new',
      scope: 'resources:write',
      search: { create: '1' },
    },
  ],
});

export const apiTabs = ['scopes', 'holders', 'shares', 'verify', 'actions'] as const;

/** One registered API. */
export const apiPage = definePage({
  path: '/apis/$resourceId',
  title: 'API',
  guide: 'guides/grant-and-revoke',
  scope: 'resources:read',
  search: { tab: oneOfOr(apiTabs, 'scopes'), scope: text(), page: wholeNumber(1), grant: flag() },
});
