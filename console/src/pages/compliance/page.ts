import { definePage } from '../../app/page.ts';
import { oneOf, text } from '../../app/search-params.ts';

export const controlStatuses = ['pass', 'fail', 'unknown'] as const;

export const compliancePage = definePage({
  path: '/compliance',
  title: 'Compliance',
  guide: 'guides/compliance',
  navigation: { group: 'Evidence', order: 2, icon: 'compliance' },
  search: { status: oneOf(controlStatuses), selected: text() },
});
