import type { AgentUsage } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { AgentName } from '../../components/AgentName.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import type { Period } from './period.ts';
import { metricLabels, metrics } from './UsageByDay.tsx';

interface UsageByAgentProps {
  readonly period: Period;
  readonly page: number;
  readonly onPage: (page: number) => void;
}

const columns: readonly Column<AgentUsage>[] = [
  { header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
  ...metrics.map((metric) => ({
    id: metric,
    header: metricLabels[metric],
    align: 'right' as const,
    cell: ({ totals }: AgentUsage) => (totals[metric] ?? 0).toLocaleString('en'),
  })),
];

/** The names of one page of agents arrive with one request. */
export const pageSize = 50;

/** The sums of the period for each agent, the one with the most calls first. */
export function UsageByAgent({ period, page, onPage }: UsageByAgentProps) {
  const query = useApi(
    'listUsageByAgent',
    { query: { ...period, page, limit: pageSize } },
    { keepPrevious: true },
  );
  return (
    <ListPage
      title="Usage by agent"
      withTitle={false}
      noun="agents with usage"
      query={query}
      columns={columns}
      rowId={({ agentId }) => agentId}
      search={{ page }}
      onSearch={(changes: { page?: number }) => changes.page && onPage(changes.page)}
      empty={{ title: 'No usage in this time', icon: 'chart' }}
    />
  );
}
