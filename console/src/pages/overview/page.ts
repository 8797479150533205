import { definePage } from '../../app/page.ts';

export const overviewPage = definePage({
  path: '/',
  title: 'Overview',
  guide: 'guides/console',
  navigation: { group: 'Start', order: 1, icon: 'overview' },
  scope: 'agents:read',
});
