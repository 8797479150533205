/** The command of a checkout, started by an older Node. test/deploy/package.test.ts installs the packed package. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { findOlderNode } from '../support/deploy/image/npm.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { bin, freePort, type Program, startProgram, untilHealthy } from '../support/programs.ts';

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

test('an older Node starts the pinned one and passes its exit code on', async (t) => {
  const node = findOlderNode();
  if (!node) return skipWithout(t, 'a Node older than 24');
  const good = run(node, bin, ['--version']);
  assert.equal(await good.gone(), 0, good.output());
  const bad = run(node, bin, ['serve']);
  assert.equal(await bad.gone(), 1, bad.output());
  assert.match(bad.output(), /DATABASE_URL is missing/);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} to an older Node ends the service`, async (t) => {
    const node = findOlderNode();
    if (!node) return skipWithout(t, 'a Node older than 24');
    await assertServes(node, bin, signal);
  });
}
