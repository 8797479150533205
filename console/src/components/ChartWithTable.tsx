import { Group, Paper, SegmentedControl, Text, Title } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { loadModule } from '../api/load-module.ts';
import type { ChartProps, ChartRow } from './Chart.tsx';
import classes from './ChartWithTable.module.css';
import { DataTable } from './DataTable.tsx';
import { EmptyState } from './EmptyState.tsx';
import { LoadingState } from './LoadingState.tsx';

interface ChartWithTableProps extends ChartProps {
  readonly actions?: ReactNode;
  readonly emptyText?: string;
  /** Small print below the figures. */
  readonly note?: ReactNode;
}

// recharts is large: it loads with the first chart.
const Chart = lazy(async () => ({ default: (await loadModule(() => import('./Chart.tsx'))).Chart }));

/** A chart and the same figures as a table. */
export function ChartWithTable(props: ChartWithTableProps) {
  const { title, rows, x, series, onSelect, actions, emptyText = 'No figures in this time', note } = props;
  const [view, setView] = useState('Chart');
  const columns = [
    {
      header: x.label,
      cell: (row: ChartRow) => x.format?.(String(row[x.key])) ?? String(row[x.key]),
    },
    ...series.map(({ key, label }) => ({
      header: label,
      align: 'right' as const,
      cell: (row: ChartRow) => Number(row[key] ?? 0).toLocaleString('en'),
    })),
  ];
  return (
    <Paper component="section" aria-label={title} p="md">
      <Group justify="space-between" mb="xs" gap="xs">
        <Title order={2}>{title}</Title>
        <Group gap="xs">
          {actions}
          <SegmentedControl
            size="xs"
            data={['Chart', 'Table']}
            value={view}
            onChange={setView}
            aria-label={`Show ${title} as`}
          />
        </Group>
      </Group>
      {rows.length === 0 ? (
        <EmptyState title={emptyText} icon="chart" />
      ) : view === 'Table' ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        <section className={classes.table} tabIndex={0} aria-label={`${title}, table`}>
          <DataTable
            label={title}
            rows={rows}
            columns={columns}
            rowId={(row) => String(row[x.key])}
            onSelect={onSelect}
          />
        </section>
      ) : (
        <Suspense fallback={<LoadingState label={`Loading ${title}`} rows={4} />}>
          <Chart {...props} />
        </Suspense>
      )}
      {note && rows.length > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          {note}
        </Text>
      )}
    </Paper>
  );
}
