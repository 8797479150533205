/** `countersign dev`: starts an instance from an empty folder, stops all processes, and restarts with the same data. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findPostmaster, readPostmasterFile } from '../../src/adapters/embedded-postgres/postmaster.ts';
import { succeed } from '../support/child-process.ts';
import { runCommand } from '../support/command-line.ts';
import { startInProcess } from '../support/commands-in-process.ts';
import { newAgent, skipWithout } from '../support/harness.ts';
import {
  authorize,
  findProgram,
  freePort,
  type Program,
  startCountersign,
  startProgram,
  until,
  untilHealthy,
} from '../support/programs.ts';
import { fromPage, sessionUrl } from '../support/scenarios/console.ts';

type Running = Pick<Program, 'output' | 'hasEnded' | 'gone' | 'kill'>;

interface Admin {
  readonly baseUrl: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A folder for one instance. Under root, PostgreSQL runs as another user and must be able to enter it. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-dev-'));
  chmodSync(folder, 0o755);
  after(async () => {
    await endLeftovers(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

const clusterOf = (folder: string) => join(folder, 'data', 'postgres');

/** Only a failed test leaves processes. */
async function endLeftovers(folder: string): Promise<void> {
  const postgres = await findPostmaster(clusterOf(folder));
  if (postgres !== undefined) process.kill(postgres, 'SIGINT');
  await until(
    'PostgreSQL ends',
    async () => (await findPostmaster(clusterOf(folder))) === undefined || undefined,
  );
  for (const pid of processesNaming(folder)) process.kill(pid, 'SIGKILL');
}

const argsOf = (folder: string, port: number | string) => [
  ...['dev', '--port', String(port)],
  ...['--data', join(folder, 'data')],
];

/** The record of the folders goes there, and not to the user of this machine. */
const launch = (folder: string, port: number): Program =>
  startCountersign(argsOf(folder, port), { XDG_CONFIG_HOME: join(folder, '.config') }, folder);

const launchInProcess = (folder: string, port: number | string, env: Record<string, string> = {}) =>
  startInProcess(argsOf(folder, port), { env: { CONSOLE_BUILD: 'false', ...env }, cwd: folder });

async function untilReady<T extends Running>(program: T, port: number): Promise<T> {
  await untilHealthy(port, program);
  await until('the welcome', async () => program.output().includes('Ctrl-C stops') || undefined, program);
  return program;
}

const start = (folder: string, port: number): Promise<Program> => untilReady(launch(folder, port), port);

/** PostgreSQL is a process of its own here, too. */
const startInside = (folder: string, port: number, env: Record<string, string> = {}) =>
  untilReady(launchInProcess(folder, port, env), port);

/** Ctrl-C: exit 0, and both ports are free again. */
async function stop(program: Running, folder: string, port: number): Promise<void> {
  const postgres = await readPostmasterFile(clusterOf(folder));
  assert.ok(postgres?.port);
  program.kill('SIGINT');
  assert.equal(await program.gone(), 0, program.output());
  assert.equal(await findPostmaster(clusterOf(folder)), undefined, 'no PostgreSQL is left');
  for (const each of [port, postgres.port]) {
    const server = createServer().listen(each, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
}

const adminOf = (folder: string): Admin =>
  JSON.parse(readFileSync(join(folder, 'data', 'admin.json'), 'utf8'));

async function call(admin: Admin, method: string, path: string, body?: object) {
  const response = await fetch(`${admin.baseUrl}/api/v1${path}`, {
    method,
    headers: {
      ...(await authorize(admin.baseUrl, admin)),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

/** The link is among the first lines, and works once. */
async function assertSignsIn(program: Program, { baseUrl, agentId }: Admin): Promise<void> {
  const lines = program.stdout().split('\n');
  const line = lines.findIndex((text) => text.includes(`${baseUrl}/console#code=csl_`));
  assert.ok(line >= 0 && line < 10, program.output());
  assert.match(lines[line + 1] ?? '', /npx --no-install countersign console/);
  const [, code] = /#code=(\S+)$/.exec(lines[line] ?? '') ?? [];
  const signIn = () =>
    fetch(`${baseUrl}${sessionUrl}`, {
      method: 'POST',
      headers: { ...fromPage, 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
  const answer = await signIn();
  assert.equal(answer.status, 204);
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const me = await fetch(`${baseUrl}${sessionUrl}`, { headers: { cookie } });
  assert.equal(JSON.parse(await me.text()).agentId, agentId);
  assert.equal((await signIn()).status, 401);
}

describe('dev', () => {
  const folder = newFolder();
  let port: number;
  let admin: Admin;
  let agentId: string;

  before(async () => {
    port = await freePort();
  });

  test('starts from an empty folder and creates an operator with a valid secret', async () => {
    const program = await start(folder, port);
    assert.equal(statSync(join(folder, 'data', 'admin.json')).mode & 0o777, 0o600);
    admin = adminOf(folder);
    assert.deepEqual(Object.keys(admin).sort(), [
      'agentId',
      'baseUrl',
      'clientId',
      'clientSecret',
      'organizationId',
    ]);
    assert.equal(admin.baseUrl, `http://localhost:${port}`);
    await assertSignsIn(program, admin);
    const created = await call(admin, 'POST', '/agents', newAgent());
    assert.equal(created.status, 201);
    agentId = created.json.agentId;
    await stop(program, folder, port);
  });

  test('restarts on another port with the same operator, keys and data; prints for people, and says goodbye on Ctrl-C', async (t) => {
    const other = await freePort();
    const [privateFile, publicFile] = ['signing-key.pem', 'signing-key.pub.pem'].map((name) =>
      join(folder, 'data', name),
    ) as [string, string];
    const keys = [readFileSync(privateFile, 'utf8'), readFileSync(publicFile, 'utf8')];
    rmSync(publicFile);
    // dev supplies BASE_URL, which serve requires with NODE_ENV=production.
    const program = await startInside(folder, other, { NODE_ENV: 'production', LOG_LEVEL: 'info' });
    assert.deepEqual(
      [readFileSync(privateFile, 'utf8'), readFileSync(publicFile, 'utf8')],
      keys,
      'the lost public half is made of the private one',
    );
    assert.deepEqual(adminOf(folder), { ...admin, baseUrl: `http://localhost:${other}` });
    assert.equal((await call(adminOf(folder), 'GET', `/agents/${agentId}`)).status, 200);
    const pasted = /curl [\s\S]*?client_secret=\S+/.exec(program.output())?.[0];
    assert.ok(pasted, program.output());
    if (findProgram('curl')) {
      const stdout = await succeed('sh', ['-c', pasted], { env: { PATH: process.env.PATH } });
      assert.equal(JSON.parse(stdout || '{}').token_type, 'Bearer', stdout);
    } else skipWithout(t, 'curl');
    await stop(program, folder, other);
    assert.match(program.output(), /^\d\d:\d\d:\d\d info {5}stopping; requests in flight/m);
    assert.match(program.output(), /\nCountersign has stopped\. Its data stays in .*data\. Goodbye!\n$/);
    assert.doesNotMatch(program.output(), /^\{"level"/m);
  });

  test('a start after a kill adopts the running PostgreSQL and stops it in the end', async () => {
    const killed = await start(folder, port);
    killed.kill('SIGKILL');
    await killed.ended();
    const left = await findPostmaster(clusterOf(folder));
    assert.ok(left, 'PostgreSQL outlives a kill');
    const program = await startInside(folder, port);
    assert.equal(await findPostmaster(clusterOf(folder)), left);
    assert.equal((await call(admin, 'GET', `/agents/${agentId}`)).status, 200);
    await stop(program, folder, port);
  });

  test('restarts a killed PostgreSQL without losing acknowledged writes, twice; refuses a second instance on the folder', async () => {
    const program = await startInside(folder, port);
    for (let round = 0; round < 2; round += 1) {
      const { json } = await call(adminOf(folder), 'POST', '/agents', newAgent());
      const killed = await findPostmaster(clusterOf(folder));
      assert.ok(killed);
      process.kill(killed, 'SIGKILL');
      const answered = async () =>
        (await call(adminOf(folder), 'GET', `/agents/${json.agentId}`)).status === 200 || undefined;
      await until('another is at work', async () => {
        const now = await findPostmaster(clusterOf(folder));
        return (now !== undefined && now !== killed) || undefined;
      });
      await until('the agent is found', answered, program);
    }
    const said = () => program.output().match(/PostgreSQL was restarted/g)?.length;
    await until('it is said twice', async () => said() === 2 || undefined, program);

    const before = adminOf(folder);
    const second = launch(folder, await freePort());
    assert.equal(await second.gone(), 1, second.output());
    assert.match(second.output(), /^countersign: .*data.postgres is in use.*use another data directory/m);
    assert.doesNotMatch(second.output(), /^ +at /m, 'no stack');
    assert.deepEqual(adminOf(folder), before);
    assert.equal((await call(before, 'GET', `/agents/${agentId}`)).status, 200);
    await stop(program, folder, port);
  });

  test('creates a new operator secret when admin.json is missing, and when the old one was revoked', async () => {
    rmSync(join(folder, 'data', 'admin.json'));
    const first = await startInside(folder, port);
    const renewed = adminOf(folder);
    assert.deepEqual({ ...renewed, clientSecret: admin.clientSecret }, admin);
    assert.notEqual(renewed.clientSecret, admin.clientSecret);
    assert.equal((await call(renewed, 'GET', `/agents/${agentId}`)).status, 200);

    const headers = await authorize(admin.baseUrl, renewed);
    const credentials = `${admin.baseUrl}/api/v1/agents/${admin.agentId}/credentials`;
    const listed = await fetch(`${credentials}?status=active&limit=100`, { headers });
    const { data } = (await listed.json()) as { data: { credentialId: string }[] };
    // The newest comes first in the list, and last here: its revocation ends the token that this call uses.
    for (const { credentialId } of data.reverse())
      assert.equal(
        (await fetch(`${credentials}/${credentialId}`, { method: 'DELETE', headers })).status,
        204,
      );
    await stop(first, folder, port);
    const second = await startInside(folder, port);
    assert.notEqual(adminOf(folder).clientSecret, renewed.clientSecret);
    assert.equal((await call(adminOf(folder), 'GET', '/agents')).status, 200);
    await stop(second, folder, port);
  });

  test('audit and doctor find the instance without any variable, running or not', async () => {
    const data = ['--data', join(folder, 'data')];
    const beside = (...args: string[]) => runCommand([...args, ...data], { env: {}, cwd: folder });
    const running = await startInside(folder, port);
    const verified = await beside('audit', 'verify');
    assert.equal(verified.code, 0, verified.output);
    assert.match(verified.stdout, /^The audit log is intact: \d+ events/m);
    assert.match(verified.stderr, /^This is about the instance of `countersign dev` in /m);
    const exported = join(folder, 'audit.jsonl');
    assert.equal((await beside('audit', 'export', '--output', exported)).code, 0);
    const healthy = await beside('doctor', '--json');
    const { findings } = JSON.parse(healthy.stdout) as { findings: { name: string; status: string }[] };
    const statusOf = (name: string) => findings.find((finding) => finding.name === name)?.status;
    assert.deepEqual(
      findings.filter(({ status }) => status === 'problem'),
      [],
    );
    for (const name of ['configuration', 'keys', 'database', 'migrations', 'audit key', 'base url', 'issuer'])
      assert.equal(statusOf(name), 'ok', name);
    await stop(running, folder, port);

    const offline = await beside('audit', 'verify');
    assert.equal(offline.code, 0, offline.output);
    assert.equal(await findPostmaster(clusterOf(folder)), undefined, 'PostgreSQL ran for the command only');
    assert.match((await beside('audit', 'verify', exported)).stdout, /^The export is intact/m);
    const stopped = await beside('doctor');
    assert.equal(stopped.code, 1);
    assert.match(stopped.stdout, /^problem +server +the instance in .* does not run$/m);
    assert.match(stopped.stdout, /^1 problem,/m);
    assert.match((await runCommand(['audit', 'verify'], { env: {}, cwd: folder })).output, /JWT_PRIVATE_KEY/);
  });

  test('audit starts the database of the current folder only after dev of this user has run there', async () => {
    symlinkSync(join(folder, 'data'), join(folder, '.countersign'));
    const config = join(folder, '.config');
    assert.equal(statSync(join(config, 'countersign', 'instances.json')).mode & 0o777, 0o600);
    const inFolder = (cwd: string, ...args: string[]) =>
      runCommand(args, { env: { XDG_CONFIG_HOME: config }, cwd });
    const own = await inFolder(folder, 'audit', 'verify');
    assert.equal(own.code, 0, own.output);
    const exported = join(folder, 'audit.jsonl');
    const ownExport = await inFolder(folder, 'audit', 'verify', exported);
    assert.equal(ownExport.code, 0, ownExport.output);

    // A folder of another party: PostgreSQL would run the command of its settings.
    const evil = join(folder, 'evil');
    mkdirSync(evil);
    const data = join(evil, '.countersign');
    cpSync(join(folder, 'data'), data, { recursive: true, preserveTimestamps: true });
    const marker = join(folder, 'started');
    writeFileSync(join(data, 'postgres', 'recovery.signal'), '');
    appendFileSync(
      join(data, 'postgres', 'postgresql.auto.conf'),
      `\nrestore_command = 'touch ${marker}; false'\n`,
    );
    const before = readdirSync(data, { recursive: true }).sort();
    for (const [args, message] of [
      [['audit', 'verify'], /its database does not run.*Start it with `countersign dev`, or give --data/],
      [['audit', 'export'], /its database does not run/],
      [['audit', 'verify', exported], /its keys would decide what is intact.*--keys.*or give --data/],
    ] as const) {
      const { code, stderr, stdout } = await inFolder(evil, ...args);
      assert.equal(code, 1, stderr);
      assert.match(stderr, message);
      assert.equal(stdout, '');
    }
    assert.deepEqual(readdirSync(data, { recursive: true }).sort(), before, 'nothing was written');
    assert.ok(!existsSync(marker));

    // In the place of an own folder.
    const place = join(folder, 'data');
    renameSync(place, join(folder, 'moved'));
    renameSync(data, place);
    rmSync(join(place, 'signing-key.pem'));
    rmSync(join(place, 'signing-key.pub.pem'));
    await runCommand(['keys', '--out', join(folder, 'keys')], { env: {}, cwd: folder });
    renameSync(join(folder, 'keys', 'private.pem'), join(place, 'signing-key.pem'));
    renameSync(join(folder, 'keys', 'public.pem'), join(place, 'signing-key.pub.pem'));
    const replaced = await inFolder(folder, 'audit', 'verify');
    assert.equal(replaced.code, 1);
    assert.match(replaced.stderr, /its database does not run/);
    assert.ok(!existsSync(marker));
    rmSync(place, { recursive: true });
    renameSync(join(folder, 'moved'), place);
  });

  test('audit uses the database of the current folder while it runs, also when it is not recorded', async () => {
    const running = await startInside(folder, port);
    const elsewhere = { XDG_CONFIG_HOME: join(folder, 'other-user') };
    const verified = await runCommand(['audit', 'verify'], { env: elsewhere, cwd: folder });
    assert.equal(verified.code, 0, verified.output);
    await stop(running, folder, port);
  });

  test('reports a port in use in one line and stops PostgreSQL', async (t) => {
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const program = launchInProcess(folder, port);
    assert.equal(await program.gone(), 1, program.output());
    assert.match(program.output(), /^countersign: port \d+ is already in use/m);
    assert.equal(await findPostmaster(clusterOf(folder)), undefined);
  });

  test('npm start starts dev, and ends all its processes on SIGTERM', async (t) => {
    const npm = process.env.npm_execpath;
    if (!npm) return skipWithout(t, 'npm');
    const { PATH, HOME } = process.env;
    const args = ['start', '--', '--port', String(port), '--data', join(folder, 'data')];
    const program = startProgram(process.execPath, [npm, ...args], {
      env: { PATH, HOME, XDG_CONFIG_HOME: join(folder, '.config') },
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
    });
    await untilHealthy(port, program);
    assert.equal((await call(adminOf(folder), 'GET', '/agents')).status, 200);
    program.kill('SIGTERM');
    // All processes that npm started have closed their output.
    await program.gone();
    assert.equal(await findPostmaster(clusterOf(folder)), undefined);
  });
});

test('an invalid --port is refused in one line, before anything is created', async () => {
  const folder = newFolder();
  for (const value of ['abc', '', '0', '70000', '1e3']) {
    const program = launchInProcess(folder, value);
    assert.equal(await program.gone(), 2, program.output());
    assert.equal(
      program.output(),
      `countersign: --port must be a number from 1 to 65535; it is "${value}"\n`,
    );
  }
  assert.ok(!existsSync(join(folder, 'data')));
});

test('a port in use is refused in one line, before anything is created', async (t) => {
  const folder = newFolder();
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const program = launchInProcess(folder, port);
  assert.equal(await program.gone(), 1, program.output());
  assert.match(program.output(), /^countersign: port \d+ is already in use; choose another.*\n$/);
  assert.ok(!existsSync(join(folder, 'data')));
});

test('SIGTERM during the first start leaves no process, and the next start works', async (t) => {
  if (!existsSync('/proc/self/cmdline')) return skipWithout(t, '/proc, to see what is left');
  const folder = newFolder();
  const port = await freePort();
  for (const afterMs of [300, 1_100, 2_000]) {
    const program = launch(folder, port);
    await sleep(afterMs);
    program.kill('SIGTERM');
    assert.ok([0, 'SIGTERM'].includes(await program.gone()), program.output());
    await until(`no process uses ${folder}`, async () => processesNaming(folder).length === 0 || undefined);
  }
  await stop(await startInside(folder, port), folder, port);
});

/** Finds processes by their unique folder, where the system lists them. */
function processesNaming(folder: string): number[] {
  const pids = existsSync('/proc/self/cmdline') ? readdirSync('/proc').map(Number).filter(Boolean) : [];
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}
