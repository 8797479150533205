/** The installed command: from the packed package, and started by an older Node. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { bin, freePort, type Program, startProgram, untilHealthy } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oldestNode = 24;

/** The bin file of the package, with exactly these variables besides PATH. */
const run = (node: string, file: string, args: string[], env: Record<string, string> = {}): Program =>
  startProgram(node, [file, ...args], { env: { PATH: process.env.PATH, ...env }, cwd: tmpdir() });

/** `serve` answers, and a signal to the started process ends all processes. */
async function assertServes(node: string, file: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const port = await freePort();
  const env = environment(await createDatabase(), { HOST: '127.0.0.1', PORT: String(port) });
  const program = run(node, file, ['serve'], env);
  try {
    await untilHealthy(port, program);
  } finally {
    program.kill(signal);
  }
  // All processes have closed the output: the service has ended, not only its launcher.
  assert.equal(await program.gone(), 0, program.output());
  await assert.rejects(fetch(`http://127.0.0.1:${port}/health`));
}

function olderNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return candidates.find((path) => {
    const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    return status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1] ?? oldestNode) < oldestNode;
  });
}

test('an older Node starts the pinned one and passes its exit code on', async (t) => {
  const node = olderNode();
  if (!node) return skipWithout(t, 'a Node older than 24');
  const good = run(node, bin, ['--version']);
  assert.equal(await good.gone(), 0, good.output());
  const bad = run(node, bin, ['serve']);
  assert.equal(await bad.gone(), 1, bad.output());
  assert.match(bad.output(), /DATABASE_URL is missing/);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} to an older Node ends the service`, async (t) => {
    const node = olderNode();
    if (!node) return skipWithout(t, 'a Node older than 24');
    await assertServes(node, bin, signal);
  });
}

test('the packed package works where it is installed', { timeout: 900_000 }, async (t) => {
  const npm = process.env.npm_execpath;
  if (!npm) return skipWithout(t, 'npm');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-installed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = install(pack(npm, folder), join(folder, 'node_modules'), t);

  const keys = run(process.execPath, file, ['keys']);
  assert.equal(await keys.gone(), 0, keys.output());
  assert.match(keys.output(), /BEGIN PRIVATE KEY[\s\S]*BEGIN PUBLIC KEY/);

  const commands = run(process.execPath, file, ['agents', 'get', 'x']);
  assert.equal(await commands.gone(), 2, commands.output());
  assert.match(commands.output(), /agentId must be a UUID/, 'the package has openapi.json');

  await assertServes(process.execPath, file);
  const older = olderNode();
  if (older) await assertServes(older, file);
});

/** Packs a copy, so that the build does not change the checkout. Returns the archive. */
function pack(npm: string, folder: string): string {
  const copy = join(folder, 'checkout');
  for (const name of readdirSync(root)) {
    if (['node_modules', 'dist', '.git', '.countersign'].includes(name)) continue;
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  succeed(process.execPath, [npm, 'pack', '--pack-destination', folder], copy);
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  assert.ok(archive);
  return join(folder, archive);
}

/** The layout of npm, with dependencies linked from this checkout. */
function install(archive: string, modules: string, t: TestContext): string {
  const target = join(modules, 'countersign');
  mkdirSync(target, { recursive: true });
  succeed('tar', ['-xzf', archive, '-C', target, '--strip-components=1'], modules);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!existsSync(join(modules, name))) symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const packed = readdirSync(target);
  t.diagnostic(`the package holds ${packed.join(', ')}`);
  assert.ok(packed.includes('dist') && !packed.includes('src'), 'the build is packed, the source is not');
  const hasConsole = existsSync(join(target, 'dist/console/index.html'));
  assert.ok(hasConsole && !packed.includes('console'), 'the built console is packed, its source is not');
  for (const folder of ['scaffolds', 'sdk/typescript/src', 'sdk/python/src/countersign']) {
    const files = (at: string) =>
      readdirSync(join(at, folder), { recursive: true })
        .map(String)
        .filter((path) => folder === 'scaffolds' || /\.(ts|py)$/.test(path))
        .sort();
    assert.deepEqual(files(target), files(root), `npm has left no file of ${folder} out`);
  }
  return join(target, 'bin', 'countersign.js');
}

function succeed(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${error ?? ''}\n${stdout}\n${stderr}`);
}
