/**
 * A histogram that costs next to nothing to feed: several are fed by every request. prom-client's own looks at each
 * observation's labels anew; here they are only joined to a key, and prom-client gets the sums when somebody asks.
 */
import type { Metric } from 'prom-client';

export interface TallyOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
}

export interface Tally {
  observe(labels: Readonly<Record<string, string>>, value: number): void;
  readonly metric: Metric;
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** One for each bucket, not added up; the last is for what is above them all. */
  readonly counts: number[];
  sum: number;
}

export function createTally({ name, help, labels: labelNames, buckets }: TallyOptions): Tally {
  const all = new Map<string, Series>();

  const seriesOf = (labels: Readonly<Record<string, string>>): Series => {
    let key = '';
    for (const label of labelNames) key += `${labels[label]}\n`;
    let series = all.get(key);
    if (!series) {
      series = { labels: { ...labels }, counts: new Array(buckets.length + 1).fill(0), sum: 0 };
      all.set(key, series);
    }
    return series;
  };

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

  const read = async () => ({
    name,
    help,
    type: 'histogram',
    values: [...all.values()].flatMap(valuesOf),
    aggregator: 'sum',
  });

  return {
    observe(labels, value) {
      const series = seriesOf(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] as number)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sum += value;
    },
    // What the registry asks of a metric: prom-client's type is that of its own classes.
    metric: { name, help, get: read, getForPromString: read, reset: () => all.clear() } as unknown as Metric,
  };
}
