/** The messages between the command and its worker processes, and the state that instrumented code shares with a worker. */

/** Runs one test file, with a mutant or without. */
export interface Order {
  readonly file: string;
  readonly mutant?: string;
  /** The tests to run, by their position in the file; without it, all. */
  readonly tests?: readonly number[];
  /** An endless loop throws after it has passed the mutant this often. */
  readonly maxHits?: number;
}

export interface Outcome {
  /** The first test that failed, or undefined when all passed. */
  readonly failure?: { readonly test: string; readonly index?: number; readonly error: string };
  readonly seconds: number;
  /** Of a run without a mutant. */
  readonly coverage?: FileCoverage;
}

export interface FileCoverage {
  /** Seconds until the tests are registered. */
  readonly setup: number;
  readonly tests: readonly { readonly name: string; readonly seconds: number }[];
  /** How often each mutant was passed, by the position of the test; -1 is the setup of the file, -2 the loading of the modules. */
  readonly hits: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export const setupPosition = -1;
export const loadPosition = -2;

/** Stryker's instrumented code reads and writes it. */
export interface MutantState {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { perTest: Record<string, Record<string, number>>; static: Record<string, number> };
}

export const mutantState = (): MutantState => {
  const holder = globalThis as { __stryker__?: MutantState };
  holder.__stryker__ ??= {};
  return holder.__stryker__;
};
