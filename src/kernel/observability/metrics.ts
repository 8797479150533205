/** The registry of GET /metrics, built from contract/metrics.ts: only metrics of that table exist. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import {
  type CounterName,
  metrics as definitions,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
} from '../../contract/metrics.ts';
import {
  createFastCounter,
  createFastHistogram,
  type FastCounter,
  type FastHistogram,
} from './fast-metrics.ts';

type Labels<N extends MetricName> = Record<LabelsOf<N>, string>;

export interface Metrics {
  count<N extends CounterName>(name: N, labels: Labels<N>, by?: number): void;
  /** Counts one series, which is exposed from now on, as 0; for the hot path. The labels are from fixed sets. */
  counter<N extends CounterName>(name: N, labels: Labels<N>): (by?: number) => void;
  /** A counter that the database keeps for all processes: `query` returns all its series at each scrape. */
  countFromQuery<N extends CounterName>(
    name: N,
    query: () => Promise<readonly { labels: Labels<N>; value: number }[]>,
  ): void;
  observe<N extends HistogramName>(name: N, labels: Labels<N>, seconds: number): void;
  gauge<N extends GaugeName>(
    name: N,
    value: number,
    ...labels: LabelsOf<N> extends never ? [] : [Labels<N>]
  ): void;
  /** Read at each scrape. */
  gaugeFrom<N extends GaugeName>(
    name: N,
    read: () => number,
    ...labels: LabelsOf<N> extends never ? [] : [Labels<N>]
  ): void;
  /** Queried at each scrape, with a short timeout. Undefined leaves it as it is. */
  gaugeFromQuery(name: GaugeName, query: () => Promise<number | undefined>): void;
  text(): Promise<string>;
  /** This process's figures, to be joined with those of its siblings by `joinSnapshots`. */
  snapshot(): Promise<Snapshot>;
}

export type Snapshot = readonly { readonly name: string; readonly type: unknown }[];

/** Labels with unbounded values: beyond this many distinct ones the rest is counted as `other`. */
const openLabels: ReadonlySet<string> = new Set(['client_id', 'org_id']);
const maxOpenValues = 1_000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const counters = new Map<string, FastCounter>();
  const histograms = new Map<string, FastHistogram>();
  const gauges = new Map<string, Gauge>();
  const readings: (() => void)[] = [];
  const queries: (() => Promise<void>)[] = [];

  for (const [name, definition] of Object.entries(definitions)) {
    const common = { name, help: definition.help, labelNames: [...definition.labels], registers: [registry] };
    if (definition.type === 'counter') {
      const counter = createFastCounter({ name, help: definition.help, labels: definition.labels });
      counters.set(name, counter);
      registry.registerMetric(counter.metric);
    } else if (definition.type === 'histogram') {
      const histogram = createFastHistogram({
        name,
        help: definition.help,
        labels: definition.labels,
        buckets: definition.buckets,
      });
      histograms.set(name, histogram);
      registry.registerMetric(histogram.metric);
    } else {
      const gauge = new Gauge({ ...common, aggregator: definition.acrossProcesses });
      // Absent until it is set: a zero without a measurement would raise alerts.
      if (definition.labels.length === 0) gauge.remove();
      gauges.set(name, gauge);
    }
  }
  collectDefaultMetrics({ register: registry });

  /** Readings first: the pool's gauges must not count the queries of the other metrics. */
  const refresh = async () => {
    for (const reading of readings) reading();
    await Promise.all(queries.map((query) => query()));
  };

  const bound = boundOpenLabels();
  return {
    count: (name, labels, by = 1) => counters.get(name)?.add(bound(labels), by),
    counter: (name, labels) => counters.get(name)?.adder(labels) ?? (() => {}),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    gauge: (name, value, ...[labels]) => gauges.get(name)?.set(labels ?? {}, value),
    gaugeFrom: (name, read, ...[labels]) =>
      void readings.push(() => gauges.get(name)?.set(labels ?? {}, read())),
    gaugeFromQuery(name, query) {
      queries.push(async () => {
        const value = await withTimeout(query);
        if (value !== undefined) gauges.get(name)?.set(value);
      });
    },
    countFromQuery(name, query) {
      queries.push(async () => {
        const series = await withTimeout(query);
        if (series === undefined) return;
        const counter = counters.get(name);
        counter?.metric.reset();
        for (const { labels, value } of series) counter?.add(labels, value);
      });
    },
    async text() {
      await refresh();
      return registry.metrics();
    },
    async snapshot() {
      await refresh();
      return (await registry.getMetricsAsJSON()).map((metric) => ({
        ...metric,
        aggregator: acrossProcesses(metric.name) ?? metric.aggregator,
      }));
    },
  };
}

/** A failed or slow query must not delay the scrape: its last value is shown. */
const queryTimeoutMs = 300;

async function withTimeout<T>(query: () => Promise<T>): Promise<T | undefined> {
  const late = new AbortController();
  const value = await Promise.race([
    Promise.try(query).catch(() => undefined),
    sleep(queryTimeoutMs, undefined, { signal: late.signal }).catch(() => undefined),
  ]);
  late.abort();
  return value;
}

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE;

const aggregate = (snapshots: readonly Snapshot[]) => AggregatorRegistry.aggregate(snapshots as object[]);

/** One exposition from the snapshots of several processes. */
export const joinSnapshots = (snapshots: readonly Snapshot[]): Promise<string> =>
  aggregate(snapshots).metrics();

/** Merges several into one, so that memory does not grow with their number. */
export const mergeSnapshots = (snapshots: readonly Snapshot[]): Promise<Snapshot> =>
  aggregate(snapshots).getMetricsAsJSON();

/** The figures that outlive their process: a counter must not go down when a process exits, but its gauges end with it. */
export const withoutGauges = (snapshot: Snapshot): Snapshot =>
  snapshot.filter(({ type }) => type === 'counter' || type === 'histogram');

/** Of prom-client's own metrics; without a rule the start would be missing in the sum of several processes. */
const defaultsAcrossProcesses: Readonly<Record<string, string>> = { process_start_time_seconds: 'max' };

function acrossProcesses(name: string): string | undefined {
  const definition = definitions[name as MetricName] ?? {};
  return 'acrossProcesses' in definition ? definition.acrossProcesses : defaultsAcrossProcesses[name];
}

function boundOpenLabels() {
  const seen = new Map<string, Set<string>>();
  return (labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
    let result = labels;
    for (const label of openLabels) {
      const value = labels[label];
      if (value === undefined) continue;
      const values = seen.get(label) ?? new Set();
      seen.set(label, values);
      if (values.has(value)) continue;
      if (values.size >= maxOpenValues) result = { ...result, [label]: 'other' };
      else values.add(value);
    }
    return result;
  };
}
