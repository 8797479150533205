/** The registry behind GET /metrics, made from contract/metrics.ts: a metric not in that table cannot be fed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  metrics as words,
} from '../../contract/metrics.ts';
import { type Count, createCount, createTally, type Tally } from './fast-metrics.ts';

type Labels<N extends MetricName> = Record<LabelsOf<N>, string>;

export interface Metrics {
  count<N extends CounterName>(name: N, labels: Labels<N>, by?: number): void;
  /** A counter that is kept elsewhere, for all processes: all its series, asked for and waited for like a gauge. */
  countFromQuery<N extends CounterName>(
    name: N,
    ask: () => Promise<readonly { labels: Labels<N>; value: number }[]>,
  ): void;
  observe<N extends HistogramName>(name: N, labels: Labels<N>, seconds: number): void;
  gauge<N extends GaugeName>(
    name: N,
    value: number,
    ...labels: LabelsOf<N> extends never ? [] : [Labels<N>]
  ): void;
  /** Read when someone asks for /metrics. */
  gaugeFrom(name: GaugeName, read: () => number): void;
  /** Asked for then, too, but not waited for long. */
  gaugeFromQuery(name: GaugeName, ask: () => Promise<number>): void;
  text(): Promise<string>;
  /** This process's figures, for joining with those of its siblings by `joinSnapshots`. */
  snapshot(): Promise<Snapshot>;
}

export type Snapshot = readonly { readonly name: string; readonly type: unknown }[];

/** Labels whose values come from outside: past this many distinct ones the rest is `other`. */
const openLabels: ReadonlySet<string> = new Set(['client_id', 'org_id']);
const maxOpenValues = 1_000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const counters = new Map<string, Count>();
  const histograms = new Map<string, Tally>();
  const gauges = new Map<string, Gauge>();
  const readings = new Map<GaugeName, () => number>();
  /** Each asks and shows what it was told. */
  const queries: (() => Promise<void>)[] = [];

  for (const [name, word] of Object.entries(words)) {
    const common = { name, help: word.help, labelNames: [...word.labels], registers: [registry] };
    if (word.type === 'counter') {
      const count = createCount({ name, help: word.help, labels: word.labels });
      counters.set(name, count);
      registry.registerMetric(count.metric);
    } else if (word.type === 'histogram') {
      const tally = createTally({ name, help: word.help, labels: word.labels, buckets: word.buckets });
      histograms.set(name, tally);
      registry.registerMetric(tally.metric);
    } else {
      const gauge = new Gauge({ ...common, aggregator: word.acrossProcesses });
      // Shown once somebody has said what it is: a zero that nobody measured would raise alarms.
      if (word.labels.length === 0) gauge.remove();
      gauges.set(name, gauge);
    }
  }
  collectDefaultMetrics({ register: registry });

  /** Readings first: the pool's gauges must not count the queries of the others. */
  const refresh = async () => {
    for (const [name, read] of readings) gauges.get(name)?.set(read());
    await Promise.all(queries.map((query) => query()));
  };

  const bound = boundOpenLabels();
  return {
    count: (name, labels, by = 1) => counters.get(name)?.add(bound(labels), by),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    gauge: (name, value, ...[labels]) => gauges.get(name)?.set(labels ?? {}, value),
    gaugeFrom: (name, read) => void readings.set(name, read),
    gaugeFromQuery(name, ask) {
      queries.push(async () => {
        const value = await withTimeout(ask);
        if (value !== undefined) gauges.get(name)?.set(value);
      });
    },
    countFromQuery(name, ask) {
      queries.push(async () => {
        const series = await withTimeout(ask);
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

/** A source that fails or dawdles must not take the other figures with it: its last value stands. */
const queryTimeoutMs = 300;

async function withTimeout<T>(ask: () => Promise<T>): Promise<T | undefined> {
  const late = new AbortController();
  const value = await Promise.race([
    Promise.try(ask).catch(() => undefined),
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

/** Several as one, so that what is kept of many does not grow with their number. */
export const mergeSnapshots = (snapshots: readonly Snapshot[]): Promise<Snapshot> =>
  aggregate(snapshots).getMetricsAsJSON();

/** What outlives its process: a counter must not go down because somebody who counted is gone. Gauges are of the living. */
export const withoutGauges = (snapshot: Snapshot): Snapshot =>
  snapshot.filter(({ type }) => type === 'counter' || type === 'histogram');

function acrossProcesses(name: string): string | undefined {
  const word = words[name as MetricName] ?? {};
  return 'acrossProcesses' in word ? word.acrossProcesses : undefined;
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
