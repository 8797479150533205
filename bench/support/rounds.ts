/**
 * How figures are compared: two sides take turns in short rounds, so that whatever else the machine does falls on both, and
 * the ratio is taken round by round.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** For a short trial; the figures in docs/performance.md are taken with the defaults. */
export const fromEnvironment = (name: string, otherwise: number): number => {
  const value = Number(process.env[name] || otherwise);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number above 0`);
  return value;
};

export const rounds = fromEnvironment('BENCH_ROUNDS', 5);
export const seconds = fromEnvironment('BENCH_SECONDS', 5);

export interface Rated {
  readonly perSecond: number;
}

export interface Sides<Ours extends Rated, Theirs extends Rated> {
  ours(): Promise<Ours>;
  theirs(): Promise<Theirs>;
  say(line: string): void;
}

export interface Turns<Ours> {
  /** The median of the ratios of each round. */
  readonly ratio: number;
  readonly ours: number;
  readonly theirs: number;
  readonly ourRounds: readonly Ours[];
}

export async function takeTurns<Ours extends Rated, Theirs extends Rated>(
  sides: Sides<Ours, Theirs>,
): Promise<Turns<Ours>> {
  const ourRounds: Ours[] = [];
  const theirRounds: Theirs[] = [];
  const ourTurn = async () => ourRounds.push(await settled(sides.ours));
  const theirTurn = async () => theirRounds.push(await settled(sides.theirs));
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Whoever always goes second would gain or lose by what the first leaves behind.
    for (const turn of round % 2 === 1 ? [theirTurn, ourTurn] : [ourTurn, theirTurn]) await turn();
    const [ours, theirs] = [ourRounds.at(-1)?.perSecond ?? 0, theirRounds.at(-1)?.perSecond ?? 0];
    ratios.push(ours / theirs);
    sides.say(
      `round ${round} of ${rounds}: ${whole(ours)} ÷ ${whole(theirs)} = ${(ours / theirs).toFixed(2)}`,
    );
  }
  return {
    ratio: median(ratios),
    ours: median(ourRounds.map(({ perSecond }) => perSecond)),
    theirs: median(theirRounds.map(({ perSecond }) => perSecond)),
    ourRounds,
  };
}

/** What the side before left to be done in the background is mostly done by then. */
const settled = async <T>(turn: () => Promise<T>): Promise<T> => {
  await sleep(300);
  return turn();
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
