/**
 * `npm run mutants -- PATH…`: changes one operator, condition, constant or call of the source files in PATH at a time, runs the tests
 * that pass through the change, and prints the changes that no test notices. docs/evidence/mutants.md has results.
 */
import { chmodSync, globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestEnvironment } from '../test/support/environment.ts';
import { instrument, mutators } from './mutants/instrument.ts';
import { createJudge, type Judged } from './mutants/judge.ts';
import { createWorker } from './mutants/pool.ts';
import type { FileCoverage } from './mutants/protocol.ts';
import { sampleOf } from './mutants/sample.ts';

const { positionals: paths, values } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    ids: { type: 'string' },
    mutators: { type: 'string', default: mutators.join() },
    timeout: { type: 'string', default: '15' },
    budget: { type: 'string', default: '60' },
    minutes: { type: 'string', default: '60' },
    workers: { type: 'string', default: '2' },
    json: { type: 'string' },
  },
});
if (paths.length === 0) {
  console.error(`usage: npm run mutants -- PATH… [options]
  --tests PATH      runs the tests in this folder, or this file (repeatable); by default those in PATH
  --sample N        judges N mutants of each path, chosen by --seed S
  --ids 1,2,3       judges these mutants only
  --mutators A,B    of ${mutators.join(', ')}
  --timeout S       seconds for a run of tests, besides four times its usual time (15)
  --budget S        seconds of tests per mutant, the best tests first; then it has survived (60)
  --minutes N       starts no further mutant after this time; with --sample, those judged are a sample too (60)
  --workers N       processes (2)
  --json FILE       writes each mutant with its result`);
  process.exit(2);
}

const filesIn = (path: string) => (statSync(path).isFile() ? [path] : globSync(`${path}/**/*.ts`).sort());
const isTest = (file: string) => file.endsWith('.test.ts');
const sourceFiles = [...new Set(paths.flatMap(filesIn))].filter((file) => !isTest(file));
/** Those in the folder; of a file, or of a folder without tests, those beside it. */
function testsOf(path: string): string[] {
  const inside = filesIn(path).filter(isTest);
  return inside.length > 0 ? inside : globSync(`${dirname(path)}/*.test.ts`);
}
const testFiles = [
  ...new Set(values.tests.length > 0 ? values.tests.flatMap(filesIn) : paths.flatMap(testsOf)),
]
  .filter(isTest)
  .sort();

const started = performance.now();
const elapsed = () => `${Math.round((performance.now() - started) / 1000)} s`;
const { mutants, sources } = await instrument(sourceFiles, values.mutators.split(','));
const ids = values.ids && new Set(values.ids.split(','));
const chosen = paths.flatMap((path) => {
  const own = mutants.filter(({ file, id }) => filesIn(path).includes(file) && (!ids || ids.has(id)));
  return values.sample === undefined ? own : sampleOf(own, Number(values.sample), Number(values.seed));
});
console.log(
  `${mutants.length} mutants in ${sourceFiles.length} files, of which ${chosen.length} are judged by ${testFiles.length} test files`,
);

const folder = mkdtempSync(join(tmpdir(), 'countersign-mutants-'));
// Under root, PostgreSQL runs as another user that must be able to enter the folder.
chmodSync(folder, 0o755);
const sourcesFile = join(folder, 'sources.json');
writeFileSync(sourcesFile, JSON.stringify(sources));
const environment = await startTestEnvironment(folder);
const workers: ReturnType<typeof createWorker>[] = [];
async function end(code: number) {
  for (const worker of workers) worker.stop();
  await environment.stop().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(130));

const variables = { ...(await environment.prepare()), TEST_REPETITIONS: 'few', TEST_PORTS: folder };
for (let count = 0; count < Number(values.workers); count += 1)
  workers.push(createWorker({ sourcesFile, variables }));

/** Each worker takes the next item when it has finished one. */
async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item, worker: ReturnType<typeof createWorker>) => Promise<void>,
) {
  const rest = [...items];
  await Promise.all(
    workers.map(async (worker) => {
      for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item, worker);
    }),
  );
}

const coverage = new Map<string, FileCoverage>();
await inParallel(testFiles, async (file, worker) => {
  const result = await worker.run({ file }, 300);
  const failure =
    result === 'timeout' ? result : result.failure && `${result.failure.test}: ${result.failure.error}`;
  if (failure) console.log(`✖ ${file} is left out, it fails without a mutant: ${failure}`);
  else if (result !== 'timeout' && result.coverage) coverage.set(file, result.coverage);
});
console.log(`The tests pass without a mutant (${coverage.size} files, ${elapsed()})`);

const judge = createJudge({ coverage, timeout: Number(values.timeout), budget: Number(values.budget) });
const judged: Judged[] = [];
const isLate = () => performance.now() - started > Number(values.minutes) * 60_000;
await inParallel(chosen, async (mutant, worker) => {
  if (isLate()) return;
  const result = await judge(mutant, worker);
  judged.push(result);
  if (result.verdict === 'survived' || result.verdict === 'not covered') console.log(describe(result));
  if (judged.length % 10 === 0) console.log(`[${judged.length}/${chosen.length}] ${elapsed()}`);
  if (values.json) writeFileSync(values.json, `${JSON.stringify(judged, null, 1)}\n`);
});
if (isLate())
  console.log(`${chosen.length - judged.length} mutants are left after ${values.minutes} minutes`);

console.log('\nPath | files | mutants | judged | killed | timeouts | survived | not covered | killed in %');
for (const path of paths) {
  const own = new Set(filesIn(path));
  const results = judged.filter(({ file }) => own.has(file));
  const count = (verdict: Judged['verdict']) => results.filter((result) => result.verdict === verdict).length;
  const killed = count('killed') + count('timeout');
  const cells = [
    path,
    sourceFiles.filter((file) => own.has(file)).length,
    mutants.filter(({ file }) => own.has(file)).length,
    results.length,
    count('killed'),
    count('timeout'),
    count('survived'),
    count('not covered'),
    ((100 * killed) / Math.max(1, results.length)).toFixed(1),
  ];
  console.log(cells.join(' | '));
}
console.log(`in ${elapsed()}`);
await end(0);

function describe({ id, file, line, verdict, mutator, original, replacement }: Judged): string {
  const oneLine = (text: string) => text.replace(/\s+/g, ' ').slice(0, 160);
  return `${verdict}: ${file}:${line} (${mutator}, ${id})\n  - ${oneLine(original)}\n  + ${oneLine(replacement)}`;
}
