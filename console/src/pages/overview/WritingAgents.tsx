import { Paper, Text, Title } from '@mantine/core';
import type { OverviewWritingAgents } from '../../api/generated.ts';
import { PageLink } from '../../app/navigation.tsx';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './OverviewPage.module.css';

type Agent = OverviewWritingAgents['data'][number];

const columns: readonly Column<Agent>[] = [
  {
    id: 'agent',
    header: 'Agent',
    cell: ({ agentId, email }) => (
      <PageLink
        to="/agents/$agentId"
        params={{ agentId }}
        search={{ tab: 'access' }}
        className={classes.link}
      >
        <TenantText text={email} />
      </PageLink>
    ),
  },
  {
    id: 'scopes',
    header: 'Scopes',
    cell: ({ scopes }) => <code>{scopes.join(' ')}</code>,
  },
];

export function WritingAgents({ agents }: { readonly agents: OverviewWritingAgents }) {
  const { data, total } = agents;
  return (
    <Paper component="section" aria-label="Agents with writing scopes">
      <Title order={2} mb="xs">
        Agents that can change things here
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        They hold writing scopes of this server's own API. Agents that only call other APIs need none.
      </Text>
      {data.length === 0 ? (
        <Text size="sm" c="dimmed">
          None.
        </Text>
      ) : (
        <div className={classes.scroll}>
          <DataTable
            label="Agents with writing scopes"
            rows={data}
            columns={columns}
            rowId={({ agentId }) => agentId}
          />
        </div>
      )}
      {total > data.length && (
        <Text size="xs" c="dimmed" mt={4}>
          The newest {data.length} of {total >= 1_000 ? '1,000 or more' : total.toLocaleString('en')}.
        </Text>
      )}
    </Paper>
  );
}
