import type { OverviewWritingAgents } from '../../api/generated.ts';
import type { Column } from '../../components/DataTable.tsx';
import { agentColumn, OverviewTable } from './OverviewTable.tsx';

type Agent = OverviewWritingAgents['data'][number];

const columns: readonly Column<Agent>[] = [
  agentColumn('access'),
  { header: 'Scopes', cell: ({ scopes }) => <code>{scopes.join(' ')}</code> },
];

export function WritingAgents({ agents }: { readonly agents: OverviewWritingAgents }) {
  const { data, total } = agents;
  return (
    <OverviewTable
      title="Agents that can change things here"
      label="Agents with writing scopes"
      description="They hold writing scopes of this server's own API. Agents that only call other APIs need none."
      rows={data}
      columns={columns}
      rowId={({ agentId }) => agentId}
      total={total}
      order="newest"
    />
  );
}
