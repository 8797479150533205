import { definePage } from '../../app/page.ts';
import { flag, oneOf, oneOfOr, text, wholeNumber } from '../../app/search-params.ts';
import { agentTypes } from '../../components/agent-types.ts';
import { agentStatuses, deploymentEnvs } from './form/agent-form.ts';

export const agentsPage = definePage({
  path: '/agents',
  title: 'Agents',
  guide: 'guides/console',
  navigation: { group: 'Identity', order: 1, icon: 'agents' },
  scope: 'agents:read',
  search: {
    q: text(),
    status: oneOf(agentStatuses),
    agentType: oneOf(agentTypes),
    deploymentEnv: oneOf(deploymentEnvs),
    capability: text(),
    label: text(),
    sort: oneOf(['createdAt', 'name']),
    order: oneOf(['asc', 'desc']),
    from: text(),
    to: text(),
    page: wholeNumber(1),
    register: flag(),
  },
  commands: [
    {
      label: 'Register an agent',
      keywords: 'new create add',
      scope: 'agents:write',
      search: { register: '1' },
    },
  ],
});

export const agentTabs = ['access', 'credentials', 'delegations', 'activity', 'identity'] as const;
export type AgentTab = (typeof agentTabs)[number];

/** `page`, `selected` and the filters are those of the list on the open tab. */
export const agentPage = definePage({
  path: '/agents/$agentId',
  title: 'Agent',
  guide: 'guides/who-can-do-what',
  scope: 'agents:read',
  search: {
    tab: oneOfOr(agentTabs, 'access'),
    page: wholeNumber(1),
    selected: text(),
    credential: oneOf(['active', 'revoked']),
    role: oneOf(['delegator', 'delegatee']),
    chain: oneOf(['active', 'expired', 'revoked']),
    action: text(),
    outcome: oneOf(['success', 'failure']),
    from: text(),
    to: text(),
  },
});
