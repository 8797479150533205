import { definePage } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const views = ['log', 'checkpoints', 'archive'] as const;

export const auditPage = definePage({
  path: '/audit',
  title: 'Audit log',
  guide: 'guides/audit-log',
  navigation: { group: 'Evidence', order: 1, icon: 'audit' },
  scope: 'audit:read',
  search: {
    view: oneOfOr(views, 'log'),
    agentId: text(),
    actorId: text(),
    action: text(),
    outcome: oneOf(['success', 'failure']),
    reason: text(),
    from: text(),
    to: text(),
    organizationId: text(),
    page: wholeNumber(1),
    selected: text(),
    live: flag(),
  },
  commands: [
    {
      label: 'Verify the audit log',
      keywords: 'proof chain intact tampering hash signature checkpoint',
      scope: 'audit:read',
      search: {},
    },
    {
      label: 'Archive of the audit log',
      keywords: 'archived days old events download verify witness retention',
      scope: 'audit:read',
      search: { view: 'archive' },
    },
    {
      label: 'Follow events live',
      keywords: 'audit tail stream',
      scope: 'audit:read',
      search: { live: '1' },
    },
    {
      label: 'Failed requests in the audit log',
      keywords: 'refused failure why',
      scope: 'audit:read',
      search: { outcome: 'failure' },
    },
  ],
});
