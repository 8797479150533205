/**
 * `npm test [-- files…]`, `npm run test:quick` and `npm run test:all`: starts a real PostgreSQL, migrates a template database that every test
 * file clones, runs the tests with node:test, prints each file when it ends, and reports the skipped tests with reasons.
 * REQUIRE_ALL=1 turns a skip into a failure.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { groupFiles } from './support/groups.ts';
import { createReport } from './support/report.ts';
import { selectFiles } from './support/selection.ts';

const started = performance.now();
const compileCache = fileURLToPath(new URL('../node_modules/.cache/countersign', import.meta.url));
// Before our modules are imported, so that they come from the cache too.
enableCompileCache(compileCache);
const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
// Under root, PostgreSQL runs as another user that must be able to enter the folder.
chmodSync(folder, 0o755);
const skips = join(folder, 'skips');
const ports = join(folder, 'ports');
mkdirSync(ports);
const files = selectFiles(process.argv.slice(2));

if (files.some((file) => file.startsWith('test/console/'))) {
  const { buildConsole } = await import('../scripts/build-console.ts');
  await buildConsole(console.log);
}
if (files.some((file) => file.startsWith('test/console/docs'))) {
  const { buildDocs } = await import('../scripts/build-docs.ts');
  await buildDocs(console.log);
}
console.log('Starting PostgreSQL…');
const { startTestEnvironment } = await import('./support/environment.ts');
const environment = await startTestEnvironment(folder);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    stopping.abort();
    await environment.stop().catch(() => {});
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
}
let exitCode = 1;
try {
  const variables = await environment.prepare();
  exitCode = await runTests({
    ...process.env,
    ...variables,
    TEST_SKIPS: skips,
    TEST_PORTS: ports,
    TEST_REPETITIONS: process.argv.includes('--extended') ? 'many' : (process.env.TEST_REPETITIONS ?? 'few'),
  });
} finally {
  await environment.stop();
  exitCode = Math.max(exitCode, reportSkips());
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${files.length} test files in ${Math.round((performance.now() - started) / 1000)} s`);
process.exit(exitCode);

/** Returns an exit code. The test processes share one compile cache and inherit these variables. */
async function runTests(variables: NodeJS.ProcessEnv): Promise<number> {
  Object.assign(process.env, variables, { NODE_COMPILE_CACHE: compileCache });
  const groups = groupFiles(files, folder);
  const known = new Set(files);
  const report = createReport({
    line: console.log,
    fileOf: (name) => [name, relative('.', name)].find((path) => known.has(path)),
    files,
    filesOfProcess: (name) =>
      groups.find(({ module }) => module === name && !known.has(relative('.', name)))?.files,
  });
  const tests = run({
    files: groups.map(({ module }) => module),
    // Cedar's WebAssembly without the optimizing compiler, as in `npm run serve`: saves a third of the start time.
    // The modules' paths have no links to search for, which saves a tenth of the time to load them.
    execArgv: ['--liftoff-only', '--preserve-symlinks'],
    concurrency: 4,
    // Of a group; each of its files has a limit of its own.
    timeout: 1_800_000,
    signal: stopping.signal,
  });
  let passed = true;
  tests.on('test:complete', report.complete);
  tests.on('test:stderr', ({ message }) => process.stderr.write(message));
  // Without a file: the totals of the run. With one: also errors after the end of a test, which no test reports.
  tests.on('test:diagnostic', ({ file, message }) => {
    if (file === undefined || message.startsWith('Error: ')) console.log(`ℹ ${message}`);
  });
  tests.on('test:summary', ({ success }) => {
    passed &&= success;
  });
  for await (const _ of tests);
  report.end();
  return passed ? 0 : 1;
}

function reportSkips(): number {
  const lines = existsSync(skips) ? [...new Set(readFileSync(skips, 'utf8').trim().split('\n'))] : [];
  if (lines.length === 0) return 0;
  console.log(
    `\nSkipped, because a program is not installed:\n${lines.map((line) => `  - ${line}`).join('\n')}`,
  );
  return process.env.REQUIRE_ALL === '1' ? 1 : 0;
}
