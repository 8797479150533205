/** Schemathesis sends generated requests to a running server: every answer is as openapi.json says. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { authorize, makeOperator, startProgram, startServe } from '../support/programs.ts';
import { fileHere, findTool, toolsAreNeeded } from './tools.ts';

test('Schemathesis finds nothing that schemathesis.toml does not justify', async (t) => {
  const path = findTool('schemathesis');
  if (!path) return skipWithout(t, toolsAreNeeded);
  const env = environment(await createDatabase());
  const operator = await makeOperator(env);
  const { url } = await startServe(env);
  const { authorization } = await authorize(url, operator);
  // Reports and the database of examples go there.
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fuzz-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  // FUZZ_ARGUMENTS, for a closer look: `--include-tag Agents --max-examples 100`.
  const program = startProgram(
    path,
    [
      ...['--no-color', '--config-file', fileHere('schemathesis.toml')],
      ...['run', `${url}/openapi.json`, '--url', url, '--header', `Authorization: ${authorization}`],
      ...(process.env.FUZZ_ARGUMENTS?.split(' ') ?? []),
    ],
    { env: { PATH: process.env.PATH, HOME: folder, PYTHONUNBUFFERED: '1' }, cwd: folder },
  );
  assert.equal(await program.gone(900_000), 0, program.output());
});
