/** The drawing of ChartWithTable. Loaded lazily: import ChartWithTable instead. */
import { useElementSize, useReducedMotion } from '@mantine/hooks';
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

interface TimeAxis {
  /** The key of the time in each row. */
  readonly key: string;
  readonly label: string;
  readonly format?: (value: string) => string;
  /** Shorter, on the axis. */
  readonly tickLabel?: (value: string) => string;
  /** Which of the values have a label, at most so many. */
  readonly ticks: (values: readonly string[], most: number) => string[];
}

/** The parts that the drawing needs. */
export interface ChartProps {
  readonly title: string;
  readonly rows: readonly ChartRow[];
  readonly x: TimeAxis;
  readonly series: readonly ChartSeries[];
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

const numbersWidth = 44;
/** Enough for "Nov 17" with a gap. */
const labelWidth = 64;
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

export function Chart(props: ChartProps) {
  const { title, rows, x, series, stacked = false, height = 220, onSelect } = props;
  const still = useReducedMotion();
  const { ref, width } = useElementSize();
  const format = (value: unknown) => x.format?.(String(value)) ?? String(value);
  const most = Math.max(2, Math.floor((width - numbersWidth) / labelWidth));
  const ticks = x.ticks(
    rows.map((row) => String(row[x.key])),
    most,
  );
  const choose = (entry: unknown) => {
    const row = (entry as { payload?: ChartRow } | undefined)?.payload;
    if (row) onSelect?.(row);
  };
  // The table has the same figures for people who cannot see the drawing.
  return (
    <div ref={ref} className={classes.chart} role="img" aria-label={`${title}, chart`}>
      <ResponsiveContainer width="100%" height={height}>
        <BarChart
          data={rows as ChartRow[]}
          margin={{ top: 6, right: 16, bottom: 0, left: 0 }}
          accessibilityLayer={false}
        >
          <CartesianGrid vertical={false} stroke="var(--console-border)" />
          <Tooltip
            labelFormatter={format}
            isAnimationActive={false}
            contentStyle={{ background: 'var(--console-surface)', border: '1px solid var(--console-border)' }}
            cursor={{ fill: 'var(--console-hover)' }}
          />
          {series.length > 1 && <Legend />}
          <XAxis
            dataKey={x.key}
            ticks={ticks}
            interval={0}
            tickFormatter={(value) => (x.tickLabel ?? format)(String(value))}
            tickLine={false}
          />
          <YAxis
            allowDecimals={false}
            width={numbersWidth}
            tickFormatter={(value) => compact.format(Number(value))}
            tickLine={false}
            axisLine={false}
          />
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
