/**
 * The services of deploy/compose.yaml as processes of this machine, without containers: with the secrets that the project makes, and
 * with the commands, variables and healthchecks of the file.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type ComposeService, deployFolder, readProject } from '../support/deploy/compose.ts';
import { isRoot } from '../support/deploy/databases/unprivileged.ts';
import { proxies, reservePorts, startProxy } from '../support/deploy/proxies.ts';
import { createSecretsFolder } from '../support/deploy/secrets.ts';
import { findTool } from '../support/deploy/tools.ts';
import { execute, skipWithout } from '../support/harness.ts';
import {
  authorize,
  bootstrap,
  freePort,
  type Program,
  startCountersign,
  startProgram,
  until,
} from '../support/programs.ts';

const project = readProject(['observability']);

/** The image has the same files in its working directory. */
const root = join(deployFolder, '..');

const programs = ['psql', 'pg_isready', 'redis-server', 'redis-cli', 'prometheus', 'caddy', 'wget'];

type Replacements = Readonly<Record<string, string>>;

const replaceAll = (text: string, replacements: Replacements): string =>
  Object.entries(replacements).reduce((result, [from, to]) => result.replaceAll(from, to), text);

const serviceOf = (name: string): ComposeService => {
  const service = project.services[name];
  assert.ok(service, name);
  return service;
};

/** The exit code of the healthcheck of a service. */
async function checkHealth(
  name: string,
  replacements: Replacements,
  env: Replacements = {},
): Promise<unknown> {
  const [kind, ...words] = serviceOf(name).healthcheck?.test ?? [];
  const [command = '', ...args] = words.map((word) => replaceAll(word, replacements));
  const variables = { PATH: process.env.PATH, ...env };
  const program =
    kind === 'CMD-SHELL'
      ? startProgram('/bin/sh', ['-c', command], { env: variables })
      : startProgram(command === 'node' ? process.execPath : command, args, { env: variables, cwd: root });
  return program.gone();
}

const untilServiceHealthy = (
  name: string,
  program: Program,
  replacements: Replacements,
  env?: Replacements,
): Promise<true> =>
  until(
    `${name} is healthy`,
    async () => (await checkHealth(name, replacements, env)) === 0 || undefined,
    program,
  );

/** Runs the SQL that the image of PostgreSQL runs when its volume is empty. */
async function initializeDatabase(superuser: URL, secrets: string): Promise<void> {
  const script = readFileSync(join(deployFolder, 'compose/postgres-init.sql'), 'utf8');
  const psql = startProgram(
    'psql',
    ['--no-psqlrc', '-v', 'ON_ERROR_STOP=1', '--file=-', new URL('/postgres', superuser).href],
    { env: { PATH: process.env.PATH }, input: script.replace('/run/secrets', secrets) },
  );
  assert.equal(await psql.gone(), 0, psql.output());
  after(async () => {
    const maintenance = new URL('/postgres', superuser).href;
    await execute(maintenance, 'drop database if exists countersign with (force)');
    await execute(maintenance, 'drop role if exists countersign');
  });
}

/** A copy of the secrets of our services, for servers on other addresses. */
function addressSecrets(folder: string, copy: string, replacements: Replacements): void {
  mkdirSync(copy, { recursive: true });
  for (const name of readdirSync(folder))
    writeFileSync(join(copy, name), replaceAll(readFileSync(join(folder, name), 'utf8'), replacements));
}

test('the services start, become healthy and work together', { timeout: 600_000 }, async (t: TestContext) => {
  if (!isRoot()) return skipWithout(t, 'root rights');
  const missing = programs.find((name) => !findTool(name));
  if (missing) return skipWithout(t, missing);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-compose-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const secrets = createSecretsFolder(project);
  await secrets.run();
  const volume = (name: string) => secrets.volumes[name] ?? '';

  const superuser = new URL(process.env.TEST_POSTGRES_URL ?? '');
  await initializeDatabase(superuser, volume('postgres-secrets'));
  const postgres = { PGPORT: superuser.port };
  const [role] = await execute<{ rolsuper: boolean; rolcreaterole: boolean }>(
    superuser.href,
    `select rolsuper, rolcreaterole from pg_roles where rolname = 'countersign'`,
  );
  assert.deepEqual(role, { rolsuper: false, rolcreaterole: false });
  assert.equal(await checkHealth('postgres', {}, postgres), 0);
  assert.notEqual(await checkHealth('postgres', {}, { PGPORT: String(await freePort()) }), 0);

  const ports = await reservePorts();
  const [port, workerPort, redisPort] = [ports.nodes[0], await freePort(), await freePort()];
  const redisFiles = { '/run/secrets': volume('redis-secrets'), 'redis-cli': `redis-cli -p ${redisPort}` };
  const [, ...redisArgs] = serviceOf('redis').command ?? [];
  assert.notEqual(await checkHealth('redis', redisFiles), 0);
  const redis = startProgram(
    'redis-server',
    [
      ...redisArgs.map((arg) => replaceAll(arg, redisFiles)),
      '--port',
      String(redisPort),
      '--bind',
      '127.0.0.1',
    ],
    { env: { PATH: process.env.PATH }, cwd: '/' },
  );
  await untilServiceHealthy('redis', redis, redisFiles);

  const own = join(folder, 'secrets');
  addressSecrets(volume('app-secrets'), own, {
    'postgres:5432': `127.0.0.1:${superuser.port}`,
    'redis:6379': `127.0.0.1:${redisPort}`,
  });
  const variablesOf = (name: string) => ({
    ...Object.fromEntries(
      Object.entries(serviceOf(name).environment ?? {}).map(([key, value]) => [
        key,
        value.replace('/run/secrets', own),
      ]),
    ),
    HOST: '127.0.0.1',
    PORT: String(port),
    WORKER_PORT: String(workerPort),
    SHUTDOWN_DELAY_SECONDS: '0',
  });
  const start = (name: string) => startCountersign(serviceOf(name).command ?? [], variablesOf(name));

  const migrate = start('migrate');
  assert.equal(await migrate.gone(), 0, migrate.output());
  // Each container has one of the two, and this machine has both: the other one is not asked.
  const servePorts = { PORT: String(port), WORKER_PORT: '0' };
  const workerPorts = { PORT: '0', WORKER_PORT: String(workerPort) };
  assert.equal(await checkHealth('serve-1', {}, servePorts), 1);
  const [serve, worker] = [start('serve-1'), start('worker')];
  await untilServiceHealthy('serve-1', serve, {}, servePorts);
  await untilServiceHealthy('worker', worker, {}, workerPorts);

  const operator = await bootstrap(variablesOf('serve-1'));
  const caddy = proxies.find(({ name }) => name === 'caddy');
  const caddyPath = findTool('caddy');
  assert.ok(caddy && caddyPath);
  const data = join(folder, 'proxy-data');
  const proxy = await startProxy(caddy, caddyPath, ports, {
    ...serviceOf('proxy').environment,
    COUNTERSIGN_NODES: `127.0.0.1:${port}`,
    XDG_DATA_HOME: data,
  });
  await untilServiceHealthy('proxy', proxy, { '127.0.0.1:2019': `127.0.0.1:${ports.admin}` });
  // The certificate comes from the local CA, because the host is localhost.
  const authority = join(data, 'caddy/pki/authorities/local/root.crt');
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authority, 'utf8')]);
  const url = `https://localhost:${ports.https}`;
  await until('the proxy answers', async () => (await fetch(`${url}/readyz`)).ok || undefined, proxy);
  const headers = await authorize(url, operator);
  assert.equal((await fetch(`${url}/api/v1/agents`, { headers })).status, 200);
  const { checks } = (await (await fetch(`${url}/health`)).json()) as { checks: unknown };
  assert.deepEqual(checks, { database: 'ok', redis: 'ok' });

  await t.test('Prometheus reads the metrics of the nodes and the worker with the token', async () => {
    const prometheusPort = await freePort();
    const file = join(folder, 'prometheus.yml');
    writeFileSync(
      file,
      replaceAll(readFileSync(join(deployFolder, 'prometheus/prometheus.yml'), 'utf8'), {
        '/run/secrets': volume('prometheus-secrets'),
        "'serve-1:3000', 'serve-2:3000'": `'127.0.0.1:${port}'`,
        'worker:3001': `127.0.0.1:${workerPort}`,
        '127.0.0.1:9090': `127.0.0.1:${prometheusPort}`,
        'scrape_interval: 15s': 'scrape_interval: 1s',
      }),
    );
    const prometheus = startProgram(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${prometheusPort}`,
      ],
      { env: { PATH: process.env.PATH }, cwd: folder },
    );
    const replaced = { '127.0.0.1:9090': `127.0.0.1:${prometheusPort}` };
    await untilServiceHealthy('prometheus', prometheus, replaced);
    await until(
      'all targets are up',
      async () => {
        const answer = await fetch(`http://127.0.0.1:${prometheusPort}/api/v1/query?query=up`);
        const { data } = (await answer.json()) as {
          data: { result: { metric: { job: string }; value: [number, string] }[] };
        };
        const up = data.result.filter(({ value }) => value[1] === '1').map(({ metric }) => metric.job);
        return up.sort().join() === 'countersign,countersign-worker,prometheus' || undefined;
      },
      prometheus,
    );
  });

  for (const program of [serve, worker]) program.kill('SIGTERM');
  assert.deepEqual(await Promise.all([serve.ended(), worker.ended()]), [0, 0]);
  assert.equal(await checkHealth('worker', {}, workerPorts), 1);
});
