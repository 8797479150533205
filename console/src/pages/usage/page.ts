import { definePage } from '../../app/page.ts';
import { oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const ranges = ['7', '30', '90'] as const;
export const groupings = ['day', 'agent'] as const;

export const usagePage = definePage({
  path: '/usage',
  title: 'Usage and plan',
  guide: 'guides/billing',
  navigation: { group: 'Administration', order: 1, icon: 'usage' },
  search: {
    /** The last days; `from` and `to` (days of UTC) go before it. */
    days: oneOfOr(ranges, '30'),
    from: text(),
    to: text(),
    group: oneOfOr(groupings, 'day'),
    page: wholeNumber(1),
    /** The dialog. */
    upgrade: oneOf(['pro', 'enterprise']),
  },
  commands: [{ label: 'Usage by agent', keywords: 'calls tokens quota', search: { group: 'agent' } }],
});
