import { definePage } from '../../app/page.ts';
import { text } from '../../app/search-params.ts';

export const signalsPage = definePage({
  path: '/signals',
  title: 'Signals',
  guide: 'guides/revocation-signals',
  navigation: { group: 'Integrations', order: 2, icon: 'signals' },
  scope: 'tokens:read',
  search: { selected: text() },
});
