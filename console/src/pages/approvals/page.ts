import { approvalStatuses } from '../../api/approvals.ts';
import { definePage } from '../../app/page.ts';
import { oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const ownViews = [...approvalStatuses, 'all'] as const;

/** For every session: people decide, and those who may read the audit log see the organization's. */
export const approvalsPage = definePage({
  path: '/approvals',
  title: 'Approvals',
  guide: 'guides/approve-an-action',
  navigation: { group: 'Start', order: 3, icon: 'approvals', counts: 'waiting' },
  forMembers: true,
  search: {
    tab: oneOfOr(['own', 'organization'], 'own'),
    /** Of the person's own list. */
    show: oneOfOr(ownViews, 'pending'),
    /** Of the organization's list. */
    status: oneOf(approvalStatuses),
    agentId: text(),
    page: wholeNumber(1),
  },
  commands: [
    {
      label: 'Approvals of the organization',
      keywords: 'requests waiting decided cancel',
      scope: 'audit:read',
      search: { tab: 'organization' },
    },
  ],
});

/** One approval: the page that decides. Its address is in mails and webhooks. */
export const approvalPage = definePage({
  path: '/approvals/$approvalId',
  title: 'Approval',
  guide: 'guides/approve-an-action',
  forMembers: true,
});
