import { definePage } from '../../app/page.ts';
import { flag, text } from '../../app/search-params.ts';

export const settingsPage = definePage({
  path: '/settings',
  title: 'Settings',
  navigation: { group: 'Administration', order: 9, icon: 'settings' },
  scope: 'admin:orgs',
  search: {
    q: text(),
    /** A group of variables; without it the state of the instance. */
    section: text(),
    all: flag(),
  },
});
