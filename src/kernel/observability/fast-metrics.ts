/**
 * Counters and histograms that cost next to nothing to feed: several are fed by every request. prom-client's own look at
 * the labels anew each time; here they are looked up word by word, and prom-client gets the sums when somebody asks.
 */
import type { Metric } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

export interface CountOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface TallyOptions extends CountOptions {
  readonly buckets: readonly number[];
}

export interface Count {
  add(labels: Labels, by: number): void;
  readonly metric: Metric;
}

export interface Tally {
  observe(labels: Labels, value: number): void;
  readonly metric: Metric;
}

interface Series {
  readonly labels: Labels;
  /** One for each bucket, not added up; the last is for what is above them all. */
  readonly counts: number[];
  sum: number;
}

interface Branch<Each> {
  readonly further: Map<string, Branch<Each>>;
  one?: Each;
}

/** One for each combination of labels, made when it first comes up. Joining them to one key would cost four times as much. */
function createAll<Each>(labelNames: readonly string[], make: (labels: Labels) => Each) {
  const root: Branch<Each> = { further: new Map() };
  let all: Each[] = [];

  const branchAt = ({ further }: Branch<Each>, word: string): Branch<Each> => {
    const known = further.get(word);
    if (known) return known;
    const branch = { further: new Map() };
    further.set(word, branch);
    return branch;
  };

  return {
    of(labels: Labels): Each {
      let branch = root;
      for (const name of labelNames) branch = branchAt(branch, String(labels[name]));
      if (branch.one === undefined) {
        branch.one = make({ ...labels });
        all.push(branch.one);
      }
      return branch.one;
    },
    /** In the order in which they came up. */
    list: (): readonly Each[] => all,
    forget() {
      root.further.clear();
      delete root.one;
      all = [];
    },
  };
}

/** What the registry asks of a metric: prom-client's type is that of its own classes. */
const metricOf = (
  { name, help }: CountOptions,
  type: 'counter' | 'histogram',
  values: () => readonly object[],
  reset: () => void,
): Metric => {
  const read = async () => ({ name, help, type, values: values(), aggregator: 'sum' });
  return { name, help, get: read, getForPromString: read, reset } as unknown as Metric;
};

/** Without labels it is shown from the start. */
export function createCount(options: CountOptions): Count {
  const { of, list, forget } = createAll(options.labels, (labels) => ({ labels, value: 0 }));
  if (options.labels.length === 0) of({});
  return {
    add(labels, by) {
      of(labels).value += by;
    },
    metric: metricOf(options, 'counter', list, forget),
  };
}

export function createTally(options: TallyOptions): Tally {
  const { name, buckets } = options;
  const { of, list, forget } = createAll<Series>(options.labels, (labels) => ({
    labels,
    counts: new Array(buckets.length + 1).fill(0),
    sum: 0,
  }));

  const valuesOf = ({ labels, counts, sum }: Series) => {
    let upTo = 0;
    const bounds = [...buckets, '+Inf'].map((le, index) => {
      upTo += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: upTo };
    });
    return [
      ...bounds,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: upTo },
    ];
  };

  return {
    observe(labels, value) {
      const series = of(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sum += value;
    },
    metric: metricOf(options, 'histogram', () => list().flatMap(valuesOf), forget),
  };
}
