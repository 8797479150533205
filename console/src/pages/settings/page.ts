import { definePage } from '../../app/page.ts';
import { flag } from '../../app/search-params.ts';

export const settingsPage = definePage({
  path: '/settings',
  title: 'Settings',
  navigation: { group: 'Administration', order: 9, icon: 'settings' },
  scope: 'admin:orgs',
  search: { all: flag() },
});
