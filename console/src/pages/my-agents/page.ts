import { definePage } from '../../app/page.ts';
import { oneOfOr, wholeNumber } from '../../app/search-params.ts';

export const consentStatuses = ['active', 'expired', 'revoked'] as const;

/** For people only: an agent's own delegations are on the page of delegations. */
export const myAgentsPage = definePage({
  path: '/my-agents',
  title: 'My agents',
  guide: 'guides/sign-people-in',
  navigation: { group: 'Start', order: 2, icon: 'my-agents' },
  forMembers: true,
  visible: ({ person }) => person !== null,
  search: { status: oneOfOr(consentStatuses, 'active'), page: wholeNumber(1) },
});
