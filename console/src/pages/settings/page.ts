import { definePage, operatorScope } from '../../app/page.ts';
import { flag, text } from '../../app/search-params.ts';

export const settingsPage = definePage({
  path: '/settings',
  title: 'Settings',
  guide: 'operations/configure',
  navigation: { group: 'Administration', order: 9, icon: 'settings' },
  scope: operatorScope,
  search: {
    q: text(),
    /** A group of variables; without it the state of the instance. */
    section: text(),
    all: flag(),
  },
});
