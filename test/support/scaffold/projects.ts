/**
 * Scaffolded projects: downloaded over HTTP from a running server, built with the language's own tools,
 * run against that server. A language's test file names its tools; the checks are the same for all.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unpack } from '../../../src/adapters/zip.ts';
import { unpackLimits } from '../../../src/commands/client/scaffold.ts';
import { registryVariables } from '../child-process.ts';
import { skipWithout } from '../harness.ts';
import { authorize, findProgram, freePort } from '../programs.ts';
import { type ScaffoldServer, startScaffoldServer } from './server.ts';

export interface Toolchain {
  /** Programs that must be installed; otherwise the tests are skipped. */
  readonly needs: readonly string[];
  /** Installs, lints, builds and runs the project's own tests; `first` is the folder of the first project, built before. */
  build(project: Project, first: string): Promise<void>;
  /** The command that starts the project. */
  program(folder: string, first: string): readonly [string, ...string[]];
}

export interface Project {
  readonly folder: string;
  /** Runs a command that must succeed; returns its output. */
  run(command: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Half a minute each on an idle machine; a first build fetches and compiles everything, and the machine may be busy. */
const patienceMs = 600_000;

/** Build cache of a language; worktrees must not share it. */
export function cacheFolder(language: string): string {
  const checkout = createHash('sha256')
    .update(fileURLToPath(import.meta.url))
    .digest('hex')
    .slice(0, 12);
  const folder = join(tmpdir(), `countersign-scaffold-${checkout}`, language);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The developer's environment: none of npm's or our own variables, and the Node that we run on first. */
const developer = (): Record<string, string | undefined> => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        !/^(npm_|NODE_|TEST_|INIT_CWD|API_URL|CLIENT_|ORGANIZATION_|ACCEPT_|WEBHOOK_|TOKEN_)/.test(name),
    ),
  ),
  ...registryVariables(),
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
});

function execute(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<Ended> {
  const { cwd, env, input = '' } = options;
  return new Promise((resolve) => {
    const child = execFile(
      command,
      [...args],
      {
        cwd,
        env: { ...developer(), ...env } as NodeJS.ProcessEnv,
        timeout: patienceMs,
        killSignal: 'SIGKILL',
        maxBuffer: 32 * 1024 * 1024,
      },
      (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? -1) : 0, output: `${stdout}${stderr}` }),
    );
    child.stdin?.on('error', () => {}).end(input);
  });
}

const projectIn = (folder: string): Project => ({
  folder,
  async run(command, args, env) {
    const { code, output } = await execute(command, args, { cwd: folder, ...(env && { env }) });
    assert.equal(code, 0, `${command} ${args.join(' ')} ended with ${code}\n${output}`);
    return output;
  },
});

/** Hostile but valid values of agent fields that a language, shell or parser could misread. */
export const hostile = () => ({
  email: `\`id\`'*/{{x}}\${x}#%s|~?=!&${randomBytes(6).toString('hex')}@example.com`,
  agentType: 'custom',
  version: '1.0.0-rm.-rf+DROP.TABLE',
  capabilities: [
    '..:..',
    '-:*',
    '_.-:.*-',
    ...Array.from({ length: 97 }, (_, i) => `${'x'.repeat(100)}${i}:*`),
  ],
  owner: Array.from(
    `'"""\\";*/ --> #{x} \${process.exit(9)} \`rm -rf /\` %s \\u000a\\u{41}\\N{DIGIT ONE}\\x41 "#"## @@email@@ ../..\r\n\t\u0001\u001b[31m\u007f\u0085\u2028\u202e\u2066\ufeff\u{e0041}\u{10ffff}é😀`.padEnd(
      200,
      '\\',
    ),
  )
    .slice(0, 128)
    .join(''),
  deploymentEnv: 'staging',
});

export async function describeProject(language: string, toolchain: Toolchain): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), `countersign-${language}-`));
  after(() => rmSync(root, { recursive: true, force: true }));
  const missing = toolchain.needs.filter((name) => !findProgram(name));
  // Not in a hook: processes that a hook starts end with the hook.
  const server = missing.length > 0 ? ({} as ScaffoldServer) : await startScaffoldServer();
  const { url } = server;

  /** Registers an agent, downloads its project with the agent's own token, and lays it out in a folder. */
  const make = async (name: string, particulars: object) => {
    const { client, email } = await server.register(particulars);
    const answer = await server.call(
      `/sdk/scaffold/${client.clientId}?language=${language}`,
      await authorize(url, client),
    );
    const folder = join(root, name);
    for (const { path, bytes } of await unpack(new Uint8Array(await answer.arrayBuffer()), unpackLimits)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    const settings = await readSettings(folder);
    return { ...projectIn(folder), client, email, settings };
  };
  type Made = Awaited<ReturnType<typeof make>>;

  const start = (
    made: Made,
    args: readonly string[] = [],
    changes: Record<string, string> = {},
    input = '',
  ) => {
    const [command, ...first] = toolchain.program(made.folder, join(root, 'plain'));
    const env = { ...made.settings, CLIENT_SECRET: made.client.clientSecret, ...changes };
    return execute(command, [...first, ...args], { cwd: made.folder, env, input });
  };

  const assertFails = ({ code, output }: Ended, says: RegExp) => {
    assert.equal(code, 1, output);
    assert.match(output, says);
    assert.doesNotMatch(output, /^\s+at |Traceback|panicked|goroutine|Exception in/m, 'no stack');
  };

  const assertKnowsItself = ({ code, output }: Ended, made: Made) => {
    assert.equal(code, 0, output);
    assert.ok(output.includes(`I am ${made.email} (${made.client.clientId})`), output);
    assert.match(output, /My token is genuine and carries: agents:read\./);
    assert.doesNotMatch(output, /something else/, 'what is in the project is what the registry knows');
  };

  describe(`a ${language} project`, { timeout: 5 * patienceMs }, () => {
    let plain: Made;
    const test = (title: string, work: (t: TestContext) => Promise<void>) =>
      it(title, { timeout: patienceMs }, (t) =>
        missing.length > 0 ? skipWithout(t, missing.join(', ')) : work(t),
      );

    test('builds, passes its own tests, obtains a token, calls the API and exits 0', async () => {
      plain = await make('plain', {});
      await toolchain.build(plain, plain.folder);
      assertKnowsItself(await start(plain), plain);
    });

    test('says what is wrong and exits 1', async () => {
      assertFails(await start(plain, [], { CLIENT_SECRET: 'cs_wrong' }), /^error: 401 invalid_client: /m);
      assertFails(await start(plain, [], { CLIENT_SECRET: '' }), /^error: CLIENT_SECRET is not set/m);
      const away = `http://127.0.0.1:${await freePort()}`;
      assertFails(await start(plain, [], { API_URL: away }), /^error: ./m);
      assert.equal((await start(plain, ['nonsense'])).code, 2);
    });

    test('believes genuine access tokens only', async () => {
      const resource = 'https://agent.example.com';
      const forUs = await server.issue(plain.client, { resource });
      const audience = { TOKEN_AUDIENCE: resource };
      const genuine = await start(plain, ['token', forUs], audience);
      assert.equal(genuine.code, 0, genuine.output);
      assert.ok(genuine.output.includes(`issued to ${plain.client.clientId}`), genuine.output);
      assertFails(await start(plain, ['token', await server.issue(plain.client)], audience), /^error: ./m);
      assertFails(await start(plain, ['token', forUs]), /^error: ./m);
      const [head, body, signature] = forUs.split('.');
      const flipped = `${head}.${body}.${signature?.startsWith('A') ? 'B' : 'A'}${signature?.slice(1)}`;
      assertFails(await start(plain, ['token', flipped], audience), /^error: ./m);
      assertFails(await start(plain, ['token', 'nonsense'], audience), /^error: ./m);
    });

    test('accepts tokens of its own organization only, unless ACCEPT_ANY_ORGANIZATION is set', async () => {
      const organizationId = await server.newOrganization();
      const other = (await server.register({ organization_id: organizationId })).client;
      const token = await server.issue(other);
      const own = plain.settings.ORGANIZATION_ID;
      assertFails(
        await start(plain, ['token', token]),
        new RegExp(`^error: the token is of organization ${organizationId}, not ${own}$`, 'm'),
      );
      const any = { ACCEPT_ANY_ORGANIZATION: 'true' };
      const accepted = await start(plain, ['token', token], { ...any, ORGANIZATION_ID: '' });
      assert.equal(accepted.code, 0, accepted.output);
      assert.ok(accepted.output.includes(`issued to ${other.clientId} of organization ${organizationId} `));
      const nameless = await server.forge(token, { organization_id: undefined });
      for (const changes of [any, {}])
        assertFails(
          await start(plain, ['token', nameless], changes),
          /^error: organization_id must be a UUID$/m,
        );

      const mine = ['token', await server.issue(plain.client)];
      assert.equal((await start(plain, mine)).code, 0);
      assertFails(await start(plain, mine, { ORGANIZATION_ID: '' }), /^error: ORGANIZATION_ID is not set/m);
      assertFails(await start(plain, mine, { ORGANIZATION_ID: 'acme' }), /^error: .*must be a UUID/m);
      assertFails(
        await start(plain, mine, { ACCEPT_ANY_ORGANIZATION: 'yes' }),
        /^error: ACCEPT_ANY_ORGANIZATION must be true or false$/m,
      );
    });

    test('shows on whose behalf a delegated token acts, and through which agents', async () => {
      const [middle, leaf] = [(await server.register()).client, (await server.register()).client];
      const first = await server.delegate(await server.issue(plain.client), middle);
      const second = await server.delegate(first.token, leaf);
      const { code, output } = await start(plain, ['token', second.token]);
      assert.equal(code, 0, output);
      assert.ok(output.includes(`issued to ${leaf.clientId} `), output);
      const subject = plain.client.clientId;
      const actors = `${leaf.clientId}, ${middle.clientId}`;
      assert.ok(
        output.includes(`delegated by ${subject} in chain ${second.chainId}; actors: ${actors}.`),
        output,
      );
      const hidden = await server.forge(second.token, { act: undefined, chain_id: undefined });
      assertFails(await start(plain, ['token', hidden]), /^error: .*act is missing$/m);
    });

    test('refuses a token that expired ten seconds ago', async () => {
      const exp = Math.floor(Date.now() / 1000) - 10;
      const expired = await server.forge(await server.issue(plain.client), { exp });
      assertFails(await start(plain, ['token', expired]), /^error: ./m);
    });

    test('believes genuine webhook deliveries only', async () => {
      const secret = { WEBHOOK_SECRET: 'whsec_ü' };
      const body = '{"id":"e1","type":"agent.created","owner":"é😀"}\n';
      const signed = (timestamp: number) => [
        'webhook',
        String(timestamp),
        `sha256=${createHmac('sha256', secret.WEBHOOK_SECRET).update(`${timestamp}.${body}`).digest('hex')}`,
      ];
      const now = Math.floor(Date.now() / 1000);
      const genuine = await start(plain, signed(now), secret, body);
      assert.equal(genuine.code, 0, genuine.output);
      assertFails(
        await start(plain, signed(now), secret, body.trim()),
        /signature does not match|no secret has signed/,
      );
      assertFails(await start(plain, signed(now - 600), secret, body), /five minutes|300 seconds/);
    });

    test('of an agent whose every field is hostile does the same', async () => {
      const made = await make('hostile', hostile());
      await toolchain.build(made, plain.folder);
      assertKnowsItself(await start(made), made);
    });
  });
}

const settingNames = [
  'API_URL',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'ORGANIZATION_ID',
  'ACCEPT_ANY_ORGANIZATION',
] as const;
type Settings = Record<(typeof settingNames)[number], string>;

/** Sources the file in a shell, as the README says. */
async function readSettings(folder: string): Promise<Settings> {
  const values = settingNames.map((name) => `"$${name}"`).join(' ');
  const script = `set -a && . ./.env.example && printf "%s\\n" ${values}`;
  const { code, output } = await execute('sh', ['-c', script], { cwd: folder });
  assert.equal(code, 0, output);
  const lines = output.split('\n');
  const settings = Object.fromEntries(settingNames.map((name, at) => [name, lines[at] ?? ''])) as Settings;
  assert.equal(settings.CLIENT_SECRET, '', 'the secret is for the developer to fill in');
  return settings;
}
