import { SimpleGrid } from '@mantine/core';
import type { Usage } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import type { ChartRow } from '../../components/Chart.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { type Metric, metricLabels } from './metrics.ts';
import { daysOf, type Period } from './period.ts';

const charts: readonly { readonly title: string; readonly metrics: readonly Metric[] }[] = [
  { title: 'API calls', metrics: ['api_calls'] },
  { title: 'Tokens', metrics: ['tokens_issued', 'token_exchanges'] },
  { title: 'Webhook deliveries', metrics: ['webhook_deliveries'] },
  { title: 'Delegations and introspections', metrics: ['delegations_created', 'introspections'] },
];

export function UsageByDay({ period }: { readonly period: Period }) {
  const { data: usage, error, refetch } = useApi('getUsage', { query: period }, { keepPrevious: true });
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!usage) return <LoadingState label="Loading usage" />;
  const rows = toRows(usage, period);
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map(({ title, metrics }) => (
        <ChartWithTable
          key={title}
          title={title}
          rows={metrics.some((metric) => usage.totals[metric]) ? rows : []}
          x={{ key: 'date', label: 'Day (UTC)' }}
          series={metrics.map((metric) => ({ key: metric, label: metricLabels[metric] }))}
          emptyText={`No ${title.toLowerCase()} in this time`}
        />
      ))}
    </SimpleGrid>
  );
}

/** One row for each day of the period, zero included. */
function toRows({ data }: Usage, period: Period): ChartRow[] {
  const byDay = new Map<string, Record<string, number>>();
  for (const { date, metric, quantity } of data) byDay.set(date, { ...byDay.get(date), [metric]: quantity });
  return daysOf(period).map((date): ChartRow => {
    const counts = byDay.get(date) ?? {};
    const figures = Object.keys(metricLabels).map((metric) => [metric, counts[metric] ?? 0] as const);
    return { ...Object.fromEntries(figures), date };
  });
}
