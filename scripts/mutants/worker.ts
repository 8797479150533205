/** Runs test files against instrumented code, one after the other, as its parent orders. Modules stay loaded between the runs. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  type FileCoverage,
  loadPosition,
  mutantState,
  type Order,
  type Outcome,
  setupPosition,
} from './protocol.ts';

const urlOf = (path: string) => pathToFileURL(resolve(path)).href;
const standIn = new URL('./node-test.ts', import.meta.url).href;
const [sourcesFile = ''] = process.argv.slice(2);
const sources = new Map(
  Object.entries<string>(JSON.parse(readFileSync(sourcesFile, 'utf8'))).map(([path, text]) => [
    urlOf(path),
    text,
  ]),
);

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' && context.parentURL !== standIn && context.parentURL !== import.meta.url
      ? { url: standIn, shortCircuit: true }
      : next(specifier, context),
  load(url, context, next) {
    const source = sources.get(url);
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
  },
});

const state = mutantState();
// Some mutants act while modules load, so this comes from the environment: such a worker serves one mutant.
state.activeMutant = process.env.MUTANT;
state.currentTestId = String(loadPosition);
const { startRun } = (await import(standIn)) as typeof import('./node-test.ts');
let loadFailure: string | undefined;
try {
  await import('../../test/support/harness.ts');
  for (const url of sources.keys()) await import(url);
} catch (error) {
  loadFailure = String(error);
}
const loaded = { ...state.mutantCoverage?.perTest[loadPosition] };
let runs = 0;

async function execute({ file, mutant, tests, maxHits }: Order): Promise<Outcome> {
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  if (loadFailure !== undefined) return { failure: { test: 'loading', error: loadFailure }, seconds: 0 };
  const run: Parameters<typeof startRun>[0] = { tests: [], ordered: tests && new Set(tests) };
  startRun(run);
  if (mutant !== undefined) state.activeMutant = mutant;
  state.currentTestId = String(setupPosition);
  state.hitCount = maxHits === undefined ? undefined : 0;
  state.hitLimit = maxHits;
  if (state.mutantCoverage) state.mutantCoverage.perTest = {};
  runs += 1;
  let setup = 0;
  let passed = false;
  await test(`${file} ${runs}`, async (t) => {
    t.after(() => {
      passed = t.passed;
    });
    try {
      await import(`${urlOf(file)}?run=${runs}`);
      setup = seconds();
    } catch (error) {
      run.failure ??= { test: 'the setup of the file', error: String(error) };
      throw error;
    }
  });
  if (process.env.MUTANT === undefined) state.activeMutant = undefined;
  const failure = run.failure ?? (passed ? undefined : { test: file, error: 'failed outside of a test' });
  const perTest = state.mutantCoverage?.perTest ?? {};
  const coverage: FileCoverage = { setup, tests: run.tests, hits: { ...perTest, [loadPosition]: loaded } };
  return {
    ...(failure && { failure }),
    seconds: seconds(),
    ...(mutant === undefined && { coverage }),
  };
}

process.on('message', async (order: Order) => {
  process.send?.(await execute(order));
});
process.send?.('ready');
