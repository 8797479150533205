import { SimpleGrid } from '@mantine/core';
import type { Usage } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import type { ChartRow } from '../../components/Chart.tsx';
import { ChartWithTable } from '../../components/ChartWithTable.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { dayLabel, dayTicks } from '../../components/time-axis.ts';
import { daysOf, type Period } from './period.ts';

type Metric = Usage['data'][number]['metric'];

export const metricLabels: Readonly<Record<Metric, string>> = {
  api_calls: 'API calls',
  tokens_issued: 'Tokens issued',
  token_exchanges: 'Token exchanges',
  delegations_created: 'Delegations',
  webhook_deliveries: 'Webhook deliveries',
  introspections: 'Introspections',
};

export const metrics = Object.keys(metricLabels) as Metric[];

const charts: readonly { readonly title: string; readonly metrics: readonly Metric[] }[] = [
  { title: 'API calls', metrics: ['api_calls'] },
  { title: 'Tokens', metrics: ['tokens_issued', 'token_exchanges'] },
  { title: 'Webhook deliveries', metrics: ['webhook_deliveries'] },
  { title: 'Delegations and introspections', metrics: ['delegations_created', 'introspections'] },
];

export function UsageByDay({ period }: { readonly period: Period }) {
  const query = useApi('getUsage', { query: period }, { keepPrevious: true });
  return (
    <QueryState query={query} label="Loading usage">
      {(usage) => (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
          {charts.map(({ title, metrics: shown }) => (
            <ChartWithTable
              key={title}
              title={title}
              rows={shown.some((metric) => usage.totals[metric]) ? toRows(usage, period) : []}
              x={{ key: 'date', label: 'Day (UTC)', tickLabel: dayLabel, ticks: dayTicks }}
              series={shown.map((metric) => ({ key: metric, label: metricLabels[metric] }))}
              emptyText={`No ${title.toLowerCase()} in this time`}
            />
          ))}
        </SimpleGrid>
      )}
    </QueryState>
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
