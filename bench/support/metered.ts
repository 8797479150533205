/** CPU time per request of a load, of the server and of PostgreSQL. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Result } from './bench.ts';
import { type CpuTime, cpuTimeOf, databaseTimeOf, difference, notMeasured, totalOf } from './cpu-time.ts';
import type { Load, LoadResult } from './load.ts';
import { type Comparison, median } from './rounds.ts';

/** Process ids; `postgres` is undefined for a server that does not use it. */
export interface Metered {
  readonly server: number;
  readonly postgres?: number;
  /** Only the PostgreSQL processes of this database, where another one in the same cluster also has work. */
  readonly database?: string;
}

/** Microseconds per request. */
export interface CpuPerRequest extends CpuTime {
  readonly postgres: number;
  /** The server with all its threads. */
  readonly server: number;
  readonly total: number;
}

export interface MeteredResult extends LoadResult {
  /** Undefined where CPU time is not measured. */
  readonly cpu: CpuPerRequest | undefined;
}

/** The sequencer links the events of the last second after the load. */
const settleMs = 1_500;

/** The warm-up of the run is included in both, the CPU time and the requests. */
export async function runMetered(load: Load, metered: Metered, seconds: number): Promise<MeteredResult> {
  const count = load.answers();
  const stop = startMeter(metered);
  const result = await load.run(seconds);
  await sleep(settleMs);
  return { ...result, cpu: stop(load.answers() - count) };
}

/** The returned function gives the CPU time since the start per request. */
export function startMeter(metered: Metered): (requests: number) => CpuPerRequest | undefined {
  const before = snapshot(metered);
  return (requests) => {
    const after = snapshot(metered);
    if (!before || !after) return undefined;
    const { main, pool, v8, other } = difference(after.server, before.server);
    const each = (nanoseconds: number) => nanoseconds / requests / 1000;
    const server = each(main + pool + v8 + other);
    const postgres = each(after.postgres - before.postgres);
    return {
      main: each(main),
      pool: each(pool),
      v8: each(v8),
      other: each(other),
      postgres,
      server,
      total: server + postgres,
    };
  };
}

function snapshot({ server, postgres, database }: Metered) {
  const time = cpuTimeOf(server);
  if (!time || postgres === undefined) return time && { server: time, postgres: 0 };
  if (database !== undefined) return { server: time, postgres: databaseTimeOf(postgres, database) };
  const all = cpuTimeOf(postgres);
  return { server: time, postgres: all ? totalOf(all) : 0 };
}

/** The median of the rounds; NaN where CPU time is not measured. */
export const medianCpu = (
  rounds: readonly { readonly cpu: CpuPerRequest | undefined }[],
  part: keyof CpuPerRequest,
): number => median(rounds.flatMap(({ cpu }) => cpu?.[part] ?? []));

/** Of each round: other work on the machine affects both sides. */
export const cpuRatio = (
  {
    ourRounds,
    baselineRounds,
  }: Pick<Comparison<MeteredResult, MeteredResult>, 'ourRounds' | 'baselineRounds'>,
  part: keyof CpuPerRequest,
): number =>
  median(
    ourRounds.flatMap(({ cpu }, round) => {
      const baseline = baselineRounds[round]?.cpu;
      return cpu && baseline ? cpu[part] / baseline[part] : [];
    }),
  );

export function cpuRatioRow(
  metric: string,
  comparison: Pick<Comparison<MeteredResult, MeteredResult>, 'ourRounds' | 'baselineRounds'>,
  ceiling: number,
): Result {
  const ratio = cpuRatio(comparison, 'total');
  const text = (part: keyof CpuPerRequest) =>
    `${microsecondsText(medianCpu(comparison.ourRounds, part))} ÷ ${microsecondsText(medianCpu(comparison.baselineRounds, part))}`;
  return {
    metric,
    result: Number.isNaN(ratio) ? notMeasured : ratio.toFixed(2),
    baseline: `${text('total')}; of PostgreSQL ${text('postgres')}`,
    target: `at most ${ceiling}`,
    met: !(ratio > ceiling),
  };
}

export interface CpuRow {
  readonly metric: string;
  readonly microseconds: number;
  readonly baseline: string;
  /** Without one the row only informs. */
  readonly ceiling?: number;
}

export const cpuRow = ({ metric, microseconds, baseline, ceiling }: CpuRow): Result => ({
  metric: `CPU time per ${metric}`,
  result: microsecondsText(microseconds),
  baseline,
  target: ceiling === undefined ? 'none' : `at most ${ceiling} µs`,
  met: ceiling === undefined || !(microseconds > ceiling),
});

export const microsecondsText = (microseconds: number): string =>
  Number.isNaN(microseconds) ? notMeasured : `${Math.round(microseconds)} µs`;
