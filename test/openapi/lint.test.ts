/** openapi.json has no finding of Redocly and Spectral, warnings included. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipWithout } from '../support/harness.ts';
import { startProgram } from '../support/programs.ts';
import { fileHere, findTool, toolsAreNeeded } from './tools.ts';

const document = fileHere('../../openapi.json');
const env = { PATH: process.env.PATH, HOME: process.env.HOME, REDOCLY_TELEMETRY: 'off', CI: '1' };

async function lint(path: string, args: readonly string[]): Promise<string> {
  const program = startProgram(process.execPath, [path, ...args], { env, cwd: fileHere('.') });
  const status = await program.gone();
  return `exit code ${status}\n${program.output()}`;
}

test('Redocly finds nothing in openapi.json', async (t) => {
  const path = findTool('redocly');
  if (!path) return skipWithout(t, toolsAreNeeded);
  const output = await lint(path, [
    'lint',
    '--config',
    fileHere('redocly.yaml'),
    '--format',
    'stylish',
    document,
  ]);
  assert.match(output, /^exit code 0$/m, output);
  assert.doesNotMatch(output, /\bwarning\b/i, output);
});

test('Spectral finds nothing in openapi.json', async (t) => {
  const path = findTool('spectral');
  if (!path) return skipWithout(t, toolsAreNeeded);
  const output = await lint(path, [
    'lint',
    '--ruleset',
    fileHere('spectral.yaml'),
    '--fail-severity',
    'hint',
    document,
  ]);
  assert.match(output, /^exit code 0$/m, output);
});
