import { definePage } from '../../app/page.ts';

export const overviewPage = definePage({
  path: '/',
  title: 'Overview',
  navigation: { group: 'Start', order: 1, icon: 'overview' },
  scope: 'agents:read',
});
