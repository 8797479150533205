/** The drawing of ChartWithTable. Loaded lazily: import ChartWithTable instead. */
import { useReducedMotion } from '@mantine/hooks';
import { Bar, BarChart, CartesianGrid, Legend, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import classes from './Chart.module.css';

export type ChartRow = Readonly<Record<string, string | number>>;

interface ChartSeries {
  /** The key of a number in each row. */
  readonly key: string;
  readonly label: string;
  /** The colour, by meaning. Default: `main`, then `second`, … */
  readonly tone?: 'main' | 'second' | 'good' | 'bad' | 'neutral';
}

/** The parts that the drawing needs. */
export interface ChartProps {
  readonly title: string;
  readonly rows: readonly ChartRow[];
  /** The key of the category or time in each row. */
  readonly x: { readonly key: string; readonly label: string; readonly format?: (value: string) => string };
  readonly series: readonly ChartSeries[];
  /** Bars lie on their side: for categories with long names. */
  readonly horizontal?: boolean;
  readonly stacked?: boolean;
  readonly height?: number;
  /** A click on a bar or point. In the table the same is a button. */
  readonly onSelect?: ((row: ChartRow) => void) | undefined;
}

const tones = {
  main: 'var(--chart-main)',
  second: 'var(--chart-second)',
  good: 'var(--chart-good)',
  bad: 'var(--chart-bad)',
  neutral: 'var(--chart-neutral)',
};
const order = ['main', 'second', 'neutral', 'good', 'bad'] as const;
const colorOf = ({ tone }: ChartSeries, index: number): string =>
  tones[tone ?? order[index % order.length] ?? 'main'];

export function Chart(props: ChartProps) {
  const { title, rows, x, series, horizontal = false, stacked = false, height = 220, onSelect } = props;
  const still = useReducedMotion();
  const format = (value: unknown) => x.format?.(String(value)) ?? String(value);
  const category = { dataKey: x.key, tickFormatter: format, tickLine: false, minTickGap: 24 };
  const number = { allowDecimals: false, width: 44, tickLine: false, axisLine: false };
  const choose = (entry: unknown) => {
    const row = (entry as { payload?: ChartRow } | undefined)?.payload;
    if (row) onSelect?.(row);
  };
  // The table has the same figures for people who cannot see the drawing.
  return (
    <div className={classes.chart} role="img" aria-label={`${title}, chart`}>
      <ResponsiveContainer width="100%" height={height}>
        <BarChart
          data={rows as ChartRow[]}
          margin={{ top: 6, right: 8, bottom: 0, left: 0 }}
          layout={horizontal ? 'vertical' : 'horizontal'}
          accessibilityLayer={false}
        >
          <CartesianGrid vertical={horizontal} horizontal={!horizontal} stroke="var(--console-border)" />
          <Tooltip
            labelFormatter={format}
            isAnimationActive={false}
            contentStyle={{ background: 'var(--console-surface)', border: '1px solid var(--console-border)' }}
            cursor={{ fill: 'var(--console-hover)' }}
          />
          {series.length > 1 && <Legend />}
          {horizontal ? (
            <>
              <XAxis type="number" {...number} />
              <YAxis type="category" {...category} width={150} />
            </>
          ) : (
            <>
              <XAxis {...category} />
              <YAxis {...number} />
            </>
          )}
          {series.map((one, index) => (
            <Bar
              key={one.key}
              dataKey={one.key}
              name={one.label}
              isAnimationActive={!still}
              animationDuration={200}
              fill={colorOf(one, index)}
              strokeWidth={0}
              maxBarSize={28}
              {...(stacked && { stackId: 'all' })}
              {...(onSelect && { onClick: choose, cursor: 'pointer' })}
            />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}
