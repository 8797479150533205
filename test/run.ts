/**
 * `npm test [-- files…]`: starts a real PostgreSQL, migrates a template database that every test file clones, runs the
 * tests with node:test, and closes with what was skipped and why. REQUIRE_ALL=1 turns a skip into a failure.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres.ts';
import { createApp } from '../src/app.ts';
import { loadConfig } from '../src/kernel/config.ts';
import { generateKeyPair } from '../src/kernel/keypair.ts';
import { createLog } from '../src/kernel/log.ts';

const started = performance.now();
const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
// As root PostgreSQL runs as another user, who must be able to pass through; otherwise it would be kept elsewhere.
chmodSync(folder, 0o755);
const skips = join(folder, 'skips');
const ports = join(folder, 'ports');
mkdirSync(ports);
const asked = process.argv.slice(2);
const files = asked.length > 0 ? asked : globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort();

console.log('Starting PostgreSQL…');
// A killed process loses nothing without fsync, only a crashed machine would; and the tests are twice as fast.
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  database: 'template_countersign',
  settings: { fsync: 'off', max_connections: '200' },
});
let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    running?.kill();
    await postgres.stop().catch(() => {});
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
}
let exitCode = 1;
try {
  const { privatePem, publicPem } = generateKeyPair();
  const env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
  };
  await migrateTemplate(env);
  exitCode = await runTests({
    ...process.env,
    TEST_POSTGRES_URL: postgres.url,
    TEST_PRIVATE_KEY: privatePem,
    TEST_PUBLIC_KEY: publicPem,
    TEST_SKIPS: skips,
    TEST_PORTS: ports,
    NODE_ENV: 'test',
  });
} finally {
  await postgres.stop();
  exitCode = Math.max(exitCode, reportSkips());
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${files.length} test files in ${Math.round((performance.now() - started) / 1000)} s`);
process.exit(exitCode);

async function migrateTemplate(env: Record<string, string>) {
  const app = await createApp({ config: loadConfig(env), log: createLog({ level: 'warn' }) });
  await app.prepare();
  await app.close();
}

function runTests(env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=3', '--test-timeout=300000', ...files],
    { stdio: 'inherit', env },
  );
  running = child;
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

function reportSkips(): number {
  const lines = existsSync(skips) ? [...new Set(readFileSync(skips, 'utf8').trim().split('\n'))] : [];
  if (lines.length === 0) return 0;
  console.log(
    `\nSkipped, because something is not installed here:\n${lines.map((line) => `  - ${line}`).join('\n')}`,
  );
  return process.env.REQUIRE_ALL === '1' ? 1 : 0;
}
