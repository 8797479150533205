import { Anchor } from '@mantine/core';
import type { Agent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink, useGoTo, usePageSearch } from '../../../app/navigation.tsx';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { agentTypes } from '../../../components/agent-types.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { agentStatuses, deploymentEnvs, operatorScope } from '../form/agent-form.ts';
import { RegisterAgent } from '../form/RegisterAgent.tsx';
import { agentsPage } from '../page.ts';

const limit = 25;
const idStart = 8;

const filters: readonly Filter[] = [
  {
    kind: 'text',
    name: 'q',
    label: 'Name or owner begins with',
    placeholder: 'Name or owner begins with…',
    maxLength: 254,
  },
  { kind: 'choice', name: 'status', label: 'Status', options: agentStatuses },
  { kind: 'choice', name: 'agentType', label: 'Type', options: agentTypes },
  { kind: 'choice', name: 'deploymentEnv', label: 'Environment', options: deploymentEnvs },
  {
    kind: 'text',
    name: 'capability',
    label: 'Capability',
    placeholder: 'Capability, such as resume:read',
    maxLength: 128,
  },
  { kind: 'time' },
];

const columns: readonly Column<Agent>[] = [
  {
    header: 'Agent',
    cell: ({ agentId, email }) => (
      <Anchor component={PageLink} to="/agents/$agentId" params={{ agentId }} inherit>
        <TenantText text={email} />
      </Anchor>
    ),
  },
  statusColumn('8.5rem'),
  { header: 'Type', width: '7.5rem', cell: ({ agentType }) => agentType },
  { header: 'Environment', width: '8rem', cell: ({ deploymentEnv }) => deploymentEnv },
  { header: 'Owner', cell: ({ owner }) => <TenantText text={owner} /> },
  { header: 'Version', width: '7rem', cell: ({ version }) => <TenantText text={version} /> },
  timeColumn('Registered', ({ createdAt }) => createdAt),
];

/** An operator sees the agents of all organizations. */
const organizationColumn: Column<Agent> = {
  header: 'Organization',
  width: '7.5rem',
  cell: ({ organizationId }) => <code title={organizationId}>{organizationId.slice(0, idStart)}</code>,
};
const operatorColumns = [...columns.slice(0, 2), organizationColumn, ...columns.slice(2)];

export function AgentsPage() {
  const [search, setSearch] = usePageSearch(agentsPage);
  const { scopes, multiTenant } = useSession();
  const can = useCan();
  const goTo = useGoTo();
  const { register, page, from, to, ...filtered } = search;
  const input = { query: { ...filtered, since: from, until: to, page, limit } };
  const agents = useApi('listAgents', input, { keepPrevious: true });
  const mayRegister = can('agents:write');
  const registerButton = mayRegister && (
    <IconButton icon="plus" onClick={() => setSearch({ register: true })}>
      Register agent
    </IconButton>
  );
  return (
    <>
      <ListPage
        title="Agents"
        description="The identities of your agents. Each can hold credentials, scopes of APIs, and delegations."
        noun="agents"
        query={agents}
        columns={multiTenant && scopes.includes(operatorScope) ? operatorColumns : columns}
        rowId={({ agentId }) => agentId}
        search={{ ...filtered, from, to }}
        onSearch={setSearch}
        filters={filters}
        onOpen={({ agentId }) => goTo({ to: '/agents/$agentId', params: { agentId } })}
        empty={{
          icon: 'agents',
          title: 'No agents yet',
          text: mayRegister
            ? 'Register the first one. Then give it a credential, and watch its first token arrive.'
            : 'Registering one needs the scope agents:write.',
        }}
        actions={<CopyAs operation="listAgents" input={input} />}
        create={registerButton}
      />
      {mayRegister && <RegisterAgent opened={register} onClose={() => setSearch({ register: false })} />}
    </>
  );
}
