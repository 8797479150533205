/**
 * Compares two servers: they alternate in short rounds, so that other load on the machine affects both. The result is the median of the
 * ratios of the rounds.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** For a short trial; docs/performance.md uses the defaults. */
export const fromEnvironment = (name: string, defaultValue: number): number => {
  const value = Number(process.env[name] || defaultValue);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number above 0`);
  return value;
};

export const rounds = fromEnvironment('BENCH_ROUNDS', 5);
export const seconds = fromEnvironment('BENCH_SECONDS', 5);

export interface Rate {
  readonly perSecond: number;
}

export interface ComparisonInput<Ours extends Rate, Baseline extends Rate> {
  ours(): Promise<Ours>;
  baseline(): Promise<Baseline>;
  log(line: string): void;
}

export interface Comparison<Ours, Baseline = Rate> {
  /** The median of the ratios of each round. */
  readonly ratio: number;
  readonly ours: number;
  readonly baseline: number;
  readonly ourRounds: readonly Ours[];
  readonly baselineRounds: readonly Baseline[];
}

export async function compare<Ours extends Rate, Baseline extends Rate>(
  input: ComparisonInput<Ours, Baseline>,
): Promise<Comparison<Ours, Baseline>> {
  const ourRounds: Ours[] = [];
  const baselineRounds: Baseline[] = [];
  const measureOurs = async () => ourRounds.push(await afterDelay(input.ours));
  const measureBaseline = async () => baselineRounds.push(await afterDelay(input.baseline));
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Swap the order each round: background work of the first affects the second.
    for (const measure of round % 2 === 1 ? [measureBaseline, measureOurs] : [measureOurs, measureBaseline])
      await measure();
    const [ours, baseline] = [ourRounds.at(-1)?.perSecond ?? 0, baselineRounds.at(-1)?.perSecond ?? 0];
    ratios.push(ours / baseline);
    input.log(
      `round ${round} of ${rounds}: ${whole(ours)} ÷ ${whole(baseline)} = ${(ours / baseline).toFixed(2)}`,
    );
  }
  return {
    ratio: median(ratios),
    ours: median(ourRounds.map(({ perSecond }) => perSecond)),
    baseline: median(baselineRounds.map(({ perSecond }) => perSecond)),
    ourRounds,
    baselineRounds,
  };
}

/** Waits for background work of the previous side. */
const afterDelay = async <T>(measure: () => Promise<T>): Promise<T> => {
  await sleep(300);
  return measure();
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(sorted.length / 2) - 1);
  return sorted.length % 2 === 1 ? low : (low + high) / 2;
};

export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  Number.NaN;

export const whole = (value: number): string => Math.round(value).toLocaleString('en');
