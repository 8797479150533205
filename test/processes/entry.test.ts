/**
 * Every command as a process, once: its arguments, variables, standard input, output, exit code and signals reach the command line,
 * which the other tests run in their own process. `serve`, `worker`, `dev` and `witness`: shutdown.test.ts, commands.test.ts, dev.test.ts
 * and witness.test.ts.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { registerClientCommands } from '../../src/commands/client/client-commands.ts';
import { createProgram, helpGroups } from '../../src/commands/program/program.ts';
import { registerServerCommands } from '../../src/commands/program/server-commands.ts';
import { ioFor } from '../support/commands-in-process.ts';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { freePort, startCountersign, until } from '../support/programs.ts';
import { keycloakRealm } from '../support/scenarios/keycloak-realm.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-entry-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const port = await freePort();
const env = environment(await createDatabase(), {
  BASE_URL: `http://127.0.0.1:${port}`,
  DATA_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
});
const { url, operator } = await startServerInProcess(env, port);
const account = {
  HOME: folder,
  COUNTERSIGN_URL: url,
  COUNTERSIGN_CLIENT_ID: operator.clientId,
  COUNTERSIGN_CLIENT_SECRET: operator.clientSecret,
};
const profile = { HOME: folder, COUNTERSIGN_CONFIG: join(folder, 'profiles.json') };
const identity = `version: 1
resources:
  - {identifier: https://entry.example, name: Entry, scopes: [a]}
`;

interface Case {
  readonly args: readonly string[];
  readonly variables?: Record<string, string>;
  readonly input?: string;
  readonly code?: number;
  readonly stdout: RegExp;
  readonly stderr?: RegExp;
}

async function run({ args, variables = account, input, code = 0, stdout, stderr }: Case): Promise<void> {
  const program = startCountersign(args, variables, folder, input);
  assert.equal(await program.gone(), code, program.output());
  assert.match(program.stdout(), stdout);
  if (stderr) assert.match(program.output(), stderr);
}

const ofClients: readonly Case[] = [
  { args: ['--version'], stdout: /^\d+\.\d+\.\d+\S*\n$/ },
  { args: ['agents', '--help'], stdout: /^Usage: countersign agents / },
  { args: ['agnets'], code: 2, stdout: /^$/, stderr: /^countersign: unknown command 'agnets'/ },
  { args: ['agents', 'list', '--json'], stdout: /^\{\n/ },
  {
    args: ['api', 'POST', '/agents', '--body', '-'],
    input: JSON.stringify(newAgent()),
    stdout: /"agentId"/,
  },
  { args: ['agents', 'get', operator.clientId], variables: {}, code: 3, stdout: /^$/, stderr: /no cred/ },
  { args: ['whoami'], stdout: /^server +http/ },
  { args: ['token'], stdout: /^\S+\.\S+\.\S+\n$/, stderr: /^valid for /m },
  { args: ['console'], stdout: /#code=csl_/ },
  { args: ['scaffold', operator.clientId, '--out', 'project'], stdout: /files written to project/ },
  { args: ['apply', '-f', '-', '--plan'], input: identity, code: 7, stdout: /1 to create/ },
  {
    args: ['import', 'keycloak', '-', '--email-domain', 'entry.example', '--owner', 'entry'],
    input: JSON.stringify(keycloakRealm),
    code: 2,
    stdout: /^$/,
    stderr: /--api orders-api=/,
  },
  { args: ['export'], stdout: /^# An identity file/ },
  { args: ['completion', 'bash'], stdout: /_countersign/ },
];
const ofServers: readonly Case[] = [
  { args: ['keys'], stdout: /BEGIN PRIVATE KEY[\s\S]+BEGIN PUBLIC KEY/, stderr: /^Set JWT_PRIVATE_KEY/m },
  { args: ['migrate'], variables: env, stdout: /^The database is up to date\.\n$/ },
  { args: ['bootstrap'], variables: env, code: 1, stdout: /^$/, stderr: /there is an operator already/ },
  { args: ['rotate-encryption-key', '--check'], variables: env, stdout: /encrypts all rows/ },
  {
    args: ['doctor', '--json'],
    variables: { ...env, BASE_URL: 'http://127.0.0.1:1' },
    code: 1,
    stdout: /^\{"ok":false,/,
  },
  { args: ['audit', 'verify'], variables: env, stdout: /^The audit log is intact: / },
  { args: ['audit', 'export'], variables: env, stdout: /^\{/, stderr: /\d+ events exported/ },
];

describe('a command as a process', { concurrency: 2 }, () => {
  for (const each of [...ofClients, ...ofServers]) it(each.args.join(' '), () => run(each));
});

it('every command has a test here, or is a server', () => {
  const io = ioFor({});
  const program = createProgram('', '', io);
  registerServerCommands(program, io);
  registerClientCommands(program, io, { words: [] });
  const names = program.commands
    .filter((command) => command.helpGroup() !== helpGroups.api)
    .map((command) => command.name());
  const tested = [...ofClients, ...ofServers].map(({ args: [name = ''] }) => name);
  const below = ['login', 'profiles', 'logout', 'listen'];
  const servers = ['serve', 'worker', 'dev', 'witness'];
  assert.deepEqual(
    names.filter((name) => ![...tested, ...below, ...servers].includes(name)),
    [],
  );
});

it('login from standard input, profiles and logout', async () => {
  const args = ['login', '--url', url, '--client-id', operator.clientId, '--secret-stdin'];
  await run({ args, variables: profile, input: `${operator.clientSecret}\n`, stdout: /^Signed in to / });
  await run({ args: ['profiles'], variables: profile, stdout: /^\* default / });
  await run({ args: ['logout'], variables: profile, stdout: /is removed from this machine/ });
});

it('audit tail and listen end with code 0 at SIGINT and SIGTERM', async () => {
  const tail = startCountersign(['audit', 'tail', '--since', '1h'], account, folder);
  await until('an event', async () => tail.stdout().includes('  success  ') || undefined, tail);
  tail.kill('SIGINT');
  assert.equal(await tail.gone(), 0, tail.output());
  assert.match(tail.output(), /\nstopped\n$/);
  const listen = startCountersign(['listen', '--forward-to', 'localhost:9'], account, folder);
  await until('it listens', async () => listen.output().includes('Ctrl-C stops') || undefined, listen);
  listen.kill('SIGTERM');
  assert.equal(await listen.gone(), 0, listen.output());
  assert.match(listen.output(), /\nstopped: 0 delivered, 0 failed\n$/);
});
