import { Text } from '@mantine/core';
import type { ListedAgent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { useGoTo, usePageSearch } from '../../../app/navigation.tsx';
import { useCan, useSession } from '../../../app/session-context.tsx';
import { agentTypes } from '../../../components/agent-types.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { agentStatuses, deploymentEnvs, operatorScope } from '../form/agent-form.ts';
import { labelFilter } from '../form/labels.ts';
import { RegisterAgent } from '../form/RegisterAgent.tsx';
import { agentsPage } from '../page.ts';
import { AgentCell } from './AgentCell.tsx';
import { accessText, dayText, nameOf } from './agent-rows.ts';
import { Expiry } from './Expiry.tsx';
import { SelectedAgents } from './SelectedAgents.tsx';

const limit = 25;
const idStart = 8;
const maxOrganizations = 100;

const filters: readonly Filter[] = [
  {
    kind: 'text',
    name: 'q',
    label: 'Name or owner begins with',
    placeholder: 'Name or owner begins with…',
    maxLength: 254,
  },
  { kind: 'choice', name: 'status', label: 'Status', options: agentStatuses },
  {
    kind: 'text',
    name: 'label',
    label: 'Label',
    placeholder: 'Label, such as team:talent',
    maxLength: 127,
  },
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

const columns: readonly Column<ListedAgent>[] = [
  { header: 'Agent', sort: { by: 'name', first: 'asc' }, cell: (agent) => <AgentCell agent={agent} /> },
  statusColumn('8rem'),
  {
    header: 'Runs as',
    width: '7.5rem',
    cell: ({ agentType, deploymentEnv }) => (
      <div>
        {agentType}
        <Text size="xs" c="dimmed">
          {deploymentEnv}
        </Text>
      </div>
    ),
  },
  { header: 'Owner', cell: ({ owner }) => <TenantText text={owner} /> },
  { header: 'Access', width: '9rem', cell: accessText },
  {
    header: 'Last token',
    width: '7rem',
    cell: ({ lastTokenDate }) =>
      lastTokenDate ? (
        <time dateTime={lastTokenDate} title={`${lastTokenDate} (UTC)`}>
          {dayText(lastTokenDate, Date.now())}
        </time>
      ) : (
        'none'
      ),
  },
  {
    header: 'Secret expires',
    width: '8rem',
    cell: ({ secretExpiresAt = null }) => <Expiry time={secretExpiresAt} />,
  },
  timeColumn('Registered', ({ createdAt }) => createdAt, {
    width: '8rem',
    sort: { by: 'createdAt', first: 'desc', isDefault: true },
  }),
];

/** An operator sees the agents of all organizations. Their names come with one request. */
function useColumns(): readonly Column<ListedAgent>[] {
  const { scopes, multiTenant, organizationId: own } = useSession();
  const isShown = multiTenant && scopes.includes(operatorScope);
  const organizations = useApi(
    'listOrganizations',
    { query: { limit: maxOrganizations } },
    { enabled: isShown },
  );
  if (!isShown) return columns;
  const names = new Map(organizations.data?.data.map(({ organizationId, name }) => [organizationId, name]));
  const organizationColumn: Column<ListedAgent> = {
    header: 'Organization',
    width: '8rem',
    cell: ({ organizationId }) =>
      organizationId === own ? (
        'yours'
      ) : (
        <span title={organizationId}>
          <TenantText text={names.get(organizationId) ?? organizationId.slice(0, idStart)} />
        </span>
      ),
  };
  return [...columns.slice(0, 2), organizationColumn, ...columns.slice(2)];
}

export function AgentsPage() {
  const [search, setSearch] = usePageSearch(agentsPage);
  const can = useCan();
  const goTo = useGoTo();
  const { register, page, from, to, ...filtered } = search;
  const label = filtered.label === undefined ? undefined : [labelFilter(filtered.label)];
  const input = {
    query: { ...filtered, label, since: from, until: to, include: 'activity', page, limit },
  } as const;
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
        columns={useColumns()}
        rowId={({ agentId }) => agentId}
        search={{ ...filtered, from, to }}
        onSearch={setSearch}
        filters={filters}
        onOpen={({ agentId }) => goTo({ to: '/agents/$agentId', params: { agentId } })}
        selection={{
          nameOf: (agent) => visibleText(nameOf(agent)),
          actions: (selected, clear) => <SelectedAgents agents={selected} onDone={clear} />,
        }}
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
