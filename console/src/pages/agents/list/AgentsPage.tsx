import { Text } from '@mantine/core';
import type { ListedAgent } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { useGoTo, usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { agentTypes } from '../../../components/agent-types.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';
import { agentStatuses, deploymentEnvs } from '../form/agent-form.ts';
import { labelFilter } from '../form/labels.ts';
import { RegisterAgent } from '../form/RegisterAgent.tsx';
import { agentsPage } from '../page.ts';
import { AgentCell } from './AgentCell.tsx';
import { accessLines, dayText } from './agent-rows.ts';
import { Expiry } from './Expiry.tsx';
import { SelectedAgents } from './SelectedAgents.tsx';

const limit = 25;

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

const AccessLines = ({ agent }: { readonly agent: ListedAgent }) => (
  <>
    {accessLines(agent).map((line) => (
      <div key={line}>{line}</div>
    ))}
  </>
);

const columns: readonly Column<ListedAgent>[] = [
  { header: 'Agent', sort: { by: 'name', first: 'asc' }, cell: (agent) => <AgentCell agent={agent} /> },
  statusColumn('5.5rem'),
  {
    header: 'Runs as',
    width: '6.5rem',
    isMinor: true,
    cell: ({ agentType, deploymentEnv }) => (
      <div>
        {agentType}
        <Text size="xs" c="dimmed">
          {deploymentEnv}
        </Text>
      </div>
    ),
  },
  {
    header: 'Owner',
    isMinor: true,
    cell: ({ owner }) => (
      // A long owner would push the last columns out of a window of 1280 px.
      <div style={{ maxWidth: 'clamp(5rem, 7vw, 20rem)' }}>
        <TenantText text={owner} />
      </div>
    ),
  },
  { header: 'Access', width: '8.5rem', cell: (agent) => <AccessLines agent={agent} /> },
  {
    header: 'Last token',
    width: '6.5rem',
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
    width: '7.5rem',
    cell: ({ secretExpiresAt = null }) => <Expiry time={secretExpiresAt} />,
  },
  timeColumn('Registered', ({ createdAt }) => createdAt, {
    width: '7.5rem',
    isMinor: true,
    sort: { by: 'createdAt', first: 'desc', isDefault: true },
  }),
];

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
        columns={columns}
        rowId={({ agentId }) => agentId}
        search={{ ...filtered, from, to }}
        onSearch={setSearch}
        filters={filters}
        onOpen={({ agentId }) => goTo({ to: '/agents/$agentId', params: { agentId } })}
        selection={{
          nameOf: ({ email }) => visibleText(email),
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
