/** The commands and variables of the rendered pods work: init container, server, worker, bootstrap and `helm test`. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { loadConfig } from '../../src/kernel/config/config.ts';
import {
  helmTest,
  type KubernetesObject,
  render,
  temporaryFolder,
  valueFiles,
  writeValues,
} from '../support/deploy/helm.ts';
import { createEmptyDatabase, environment } from '../support/harness.ts';
import {
  askToken,
  freePort,
  type Program,
  startCountersign,
  startProgram,
  until,
} from '../support/programs.ts';

const folderInPods = '/run/secrets/countersign';

/** The variables of a container, on this machine: other folder of secrets, other ports, loopback only. */
function environmentOf(container: KubernetesObject, folder: string, port: number): Record<string, string> {
  const ports: Record<string, string> = { PORT: String(port), WORKER_PORT: String(port) };
  const variables = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [
      name,
      ports[name] ?? value?.replace(folderInPods, folder),
    ]),
  );
  return { ...variables, HOST: '127.0.0.1' };
}

const untilAnswer = (program: Program, url: string, headers: Record<string, string> = {}) =>
  until(
    url,
    async () => {
      const response = await fetch(url, { headers });
      const text = await response.text();
      return response.ok ? text : undefined;
    },
    program,
  );

/** Values that the server accepts, for every key of the Secret. */
function exampleSecrets(): Record<string, string> {
  const { JWT_PUBLIC_KEY = '', ...others } = environment('postgres://user:password@db.example.com/name');
  const certificate = readFileSync(new URL('../fixtures/tls/ca.pem', import.meta.url), 'utf8');
  return {
    ...others,
    JWT_PUBLIC_KEY,
    JWT_PREVIOUS_PUBLIC_KEYS: JWT_PUBLIC_KEY,
    REDIS_URL: 'rediss://redis.example.com:6380',
    DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    METRICS_TOKEN: 'metrics-token-of-the-test',
    KAFKA_SSL_CA: certificate,
    KAFKA_SASL_PASSWORD: 'password',
    NATS_URL: 'nats://nats.example.com:4222',
    NATS_CA: certificate,
    SMTP_URL: 'smtps://user:password@mail.example.com',
    CONSOLE_OIDC_CLIENT_SECRET: 'secret',
    STRIPE_SECRET_KEY: 'sk_test',
    STRIPE_WEBHOOK_SECRET: 'whsec_test',
  };
}

/** The Secrets of a pod, as its volume shows them. */
function writeSecrets(pod: KubernetesObject, secrets: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const { secret } of pod.volumes[0].projected.sources)
    for (const { path } of secret.items)
      writeFileSync(join(folder, path), secrets[path.toUpperCase().replaceAll('-', '_')] ?? '');
  return folder;
}

const podsOf = (objects: KubernetesObject[]): KubernetesObject[] =>
  objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.template.spec);

describe('the pods of the Helm chart', () => {
  for (const [name, file] of Object.entries(valueFiles))
    helmTest(`have variables that the server accepts, with ${name}-values.yaml`, async () => {
      for (const pod of podsOf(await render(file))) {
        const env = environmentOf(pod.containers[0], writeSecrets(pod, exampleSecrets()), 3000);
        const config = loadConfig(env);
        assert.equal(config.nodeEnv, 'production');
        assert.equal(
          config.metricsToken,
          'METRICS_TOKEN_FILE' in env ? 'metrics-token-of-the-test' : undefined,
        );
      }
    });

  helmTest('migrate, serve, work, and answer their probes', async () => {
    const objects = await render(
      writeValues({
        existingSecret: 'countersign',
        config: { BASE_URL: 'https://id.example.com', LOG_LEVEL: 'info' },
        serve: { shutdownDelaySeconds: 1 },
      }),
    );
    const [servePod, workerPod] = podsOf(objects);
    const testPod = objects.find(({ kind }) => kind === 'Pod').spec;

    const secrets: Record<string, string> = {
      ...exampleSecrets(),
      DATABASE_URL: await createEmptyDatabase(),
      REDIS_URL: 'memory://',
    };
    const folder = writeSecrets(servePod, secrets);

    const [migrate] = servePod.initContainers;
    const migration = startCountersign(migrate.args, environmentOf(migrate, folder, 0));
    assert.equal(await migration.gone(), 0, migration.output());
    assert.match(migration.output(), /^Applied: 0001/m);

    const started: Record<string, { program: Program; url: string; env: Record<string, string> }> = {};
    for (const [name, pod] of Object.entries({ serve: servePod, worker: workerPod })) {
      const [container] = pod.containers;
      const port = await freePort();
      const env = environmentOf(container, folder, port);
      const url = `http://127.0.0.1:${port}`;
      const program = startCountersign(container.args, env);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        await untilAnswer(program, url + container[probe].httpGet.path);
      assert.equal((await fetch(`${url}/metrics`)).status, 401);
      const metrics = await untilAnswer(program, `${url}/metrics`, {
        authorization: `Bearer ${secrets.METRICS_TOKEN}`,
      });
      assert.match(metrics, /^# TYPE service_/m);
      started[name] = { program, url, env };
    }
    const { serve, worker } = started;
    assert.ok(serve && worker);

    // As `kubectl exec` runs it.
    const bootstrap = startCountersign(['bootstrap', '--json'], serve.env);
    assert.equal(await bootstrap.gone(), 0, bootstrap.output());
    const operator = JSON.parse(bootstrap.stdout());
    assert.equal(operator.baseUrl, 'https://id.example.com');
    assert.equal((await askToken(serve.url, operator)).status, 200);

    const [readiness] = testPod.containers;
    assert.equal(readiness.command[0], 'node');
    assert.match(readiness.command.at(-1), /^http:\/\/trial-countersign:80\/readyz$/);
    const script = readiness.command.slice(1, -1);
    const check = (url: string) => startProgram(process.execPath, [...script, url], { env: {} });
    const whenReady = check(`${serve.url}/readyz`);
    assert.equal(await whenReady.gone(), 0, whenReady.output());
    const whenMissing = check(`${serve.url}/missing`);
    assert.equal(await whenMissing.gone(), 1, whenMissing.output());

    for (const { program } of [serve, worker]) {
      program.kill('SIGTERM');
      assert.equal(await program.gone(), 0, program.output());
    }
  });
});
