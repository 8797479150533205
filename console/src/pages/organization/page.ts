import { definePage, isAdmin, operatorScope } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';

export const organizationTabs = ['members', 'people', 'connections', 'clients', 'approvals'] as const;

/** The session's organization; for an operator also another one, by `id`. The filters, `page`, `selected` and the dialogs belong to the open tab. */
export const organizationPage = definePage({
  path: '/organization',
  title: 'Organization',
  guide: 'guides/connections',
  navigation: { group: 'Administration', order: 4, icon: 'organization' },
  search: {
    id: text(),
    tab: oneOfOr(organizationTabs, 'members'),
    role: oneOf(['admin', 'member', 'viewer']),
    /** Of a client. */
    status: oneOf(['active', 'suspended', 'decommissioned']),
    page: wholeNumber(1),
    /** The person or connection in the detail pane. */
    selected: text(),
    /** The member or person in the open form. Dialogs that end something are in no address. */
    change: text(),
    add: flag(),
    rename: flag(),
  },
  commands: [
    {
      label: 'Add a member',
      keywords: 'organization role admin agent',
      visible: isAdmin,
      search: { add: '1' },
    },
    {
      label: 'Invite a person',
      keywords: 'organization people user admin viewer',
      visible: isAdmin,
      search: { tab: 'people', add: '1' },
    },
    {
      label: 'Add a connection',
      keywords: 'organization openid provider sso login google okta entra keycloak',
      visible: isAdmin,
      search: { tab: 'connections', add: '1' },
    },
    {
      label: 'Clients and client policy',
      keywords: 'organization oauth mcp document cimd admit',
      visible: isAdmin,
      search: { tab: 'clients' },
    },
    {
      label: 'Approval policy',
      keywords: 'organization rules two people self approval',
      visible: isAdmin,
      search: { tab: 'approvals' },
    },
  ],
});

/** The answer of a provider to the test of a connection. */
export const connectionTestPage = definePage({
  path: '/connection-test',
  title: 'Test of a connection',
  visible: isAdmin,
  search: { error: text(), requestId: text() },
});

export const organizationStatuses = ['active', 'suspended', 'deleted'] as const;

export const organizationsPage = definePage({
  path: '/organizations',
  title: 'Organizations',
  guide: 'concepts',
  navigation: { group: 'Administration', order: 5, icon: 'organizations' },
  visible: ({ scopes }) => scopes.includes(operatorScope),
  search: {
    status: oneOf(organizationStatuses),
    from: text(),
    to: text(),
    page: wholeNumber(1),
    selected: text(),
    create: flag(),
    configure: text(),
  },
  commands: [
    {
      label: 'Create an organization',
      keywords: 'new tenant add',
      scope: operatorScope,
      search: { create: '1' },
    },
  ],
});
