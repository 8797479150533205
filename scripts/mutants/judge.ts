/** Decides whether the neighbouring tests kill a mutant. */
import type { Mutant } from './instrument.ts';
import type { createWorker } from './pool.ts';
import { type FileCoverage, loadPosition } from './protocol.ts';

export type Verdict = 'killed' | 'timeout' | 'survived' | 'not covered';

export interface Judged extends Mutant {
  readonly verdict: Verdict;
  /** The test that killed it. */
  readonly by?: string;
  readonly error?: string;
}

interface Options {
  /** Of the test files that pass without a mutant. */
  readonly coverage: ReadonlyMap<string, FileCoverage>;
  /** Of a test run, at least. */
  readonly timeout: number;
  /** Of all test runs of one mutant, as measured without a mutant. */
  readonly budget: number;
}

interface Plan {
  readonly file: string;
  readonly tests: readonly number[];
  readonly hits: number;
  readonly seconds: number;
}

export function createJudge({ coverage, timeout, budget }: Options) {
  /** Test files by the source file whose mutants they killed. */
  const kills = new Map<string, number>();
  /** Whether a test passes when those before it do nothing. */
  const independent = new Map<string, boolean>();

  function planFor({ id }: Mutant, isStatic: boolean): Plan[] {
    return [...coverage].flatMap(([file, { setup, tests, hits }]) => {
      const positions = Object.keys(hits)
        .filter((position) => hits[position]?.[id])
        .map(Number);
      if (positions.length === 0) return [];
      const own = positions.filter((position) => position >= 0).toSorted((a, b) => a - b);
      // Only the setup or the loading passes through the mutant, so any test may notice its effect.
      const timeOf = (some: readonly number[]) =>
        some.reduce((sum, index) => sum + (tests[index]?.seconds ?? 0), setup);
      const passing = timeOf(own) < quickSeconds ? own : withoutRepeats(own, hits);
      const ordered = own.length > 0 && !isStatic ? passing : tests.map((_, index) => index);
      const seconds = timeOf(ordered);
      const count = positions.reduce((sum, position) => sum + (hits[position]?.[id] ?? 0), 0);
      return [{ file, tests: ordered, hits: count, seconds }];
    });
  }

  const limit = (seconds: number) => timeout + 4 * seconds;

  async function passesAlone(worker: ReturnType<typeof createWorker>, file: string, test: number) {
    const key = `${file} ${test}`;
    const known = independent.get(key);
    if (known !== undefined) return known;
    const seconds = coverage.get(file)?.tests[test]?.seconds ?? 0;
    const result = await worker.run({ file, tests: [test] }, limit(seconds));
    const passes = result !== 'timeout' && !result.failure;
    independent.set(key, passes);
    return passes;
  }

  return async function judge(mutant: Mutant, worker: ReturnType<typeof createWorker>): Promise<Judged> {
    const isStatic = [...coverage.values()].some(({ hits }) => hits[loadPosition]?.[mutant.id]);
    const plans = planFor(mutant, isStatic);
    if (plans.length === 0) return { ...mutant, verdict: 'not covered' };
    const keyOf = (file: string) => `${mutant.file} ${file}`;
    const score = ({ file, seconds }: Plan) => ((kills.get(keyOf(file)) ?? 0) + 0.5) / (seconds + 0.5);
    let spent = 0;
    for (const { file, tests, hits, seconds } of plans.toSorted((a, b) => score(b) - score(a))) {
      if (spent > 0 && spent + seconds > budget) continue;
      spent += seconds;
      const maxHits = 100 * hits + 10_000;
      const run = (selected?: readonly number[]) =>
        worker.run(
          { file, mutant: mutant.id, maxHits, ...(selected && { tests: selected }) },
          limit(selected ? seconds : total(coverage.get(file))),
          isStatic,
        );
      let result = await run(tests);
      if (result !== 'timeout' && result.failure?.index !== undefined) {
        const skipped = result.failure.index !== tests.indexOf(result.failure.index);
        // A test that needs the tests before it failed for that reason: once more, with all of them.
        if (skipped && !(await passesAlone(worker, file, result.failure.index))) result = await run();
      }
      if (result !== 'timeout' && !result.failure) continue;
      kills.set(keyOf(file), (kills.get(keyOf(file)) ?? 0) + 1);
      if (result === 'timeout') return { ...mutant, verdict: 'timeout', by: file };
      const { test, error } = result.failure ?? { test: '', error: '' };
      return { ...mutant, verdict: 'killed', by: `${file}: ${test}`, error: error.slice(0, 300) };
    }
    return { ...mutant, verdict: 'survived' };
  };
}

/** Of the tests that pass through the same mutants, a few: most of them repeat one request with other values. */
function withoutRepeats(positions: readonly number[], hits: FileCoverage['hits']): number[] {
  const alike = Map.groupBy(positions, (position) => Object.keys(hits[position] ?? {}).join());
  return [...alike.values()]
    .flatMap((group) => {
      const step = Math.max(1, group.length / maxAlike);
      return group.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
    })
    .sort((a, b) => a - b);
}

const maxAlike = 6;
/** All tests of a file that takes less run. */
const quickSeconds = 2;

const total = (coverage?: FileCoverage): number =>
  coverage?.tests.reduce((sum, { seconds }) => sum + seconds, coverage.setup) ?? 0;
