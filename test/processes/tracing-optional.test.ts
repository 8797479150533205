/** Tracing is optional: without it nothing is loaded, and a missing package or collector never affects requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { type CollectedSpan, startCollector } from '../support/peers/otlp-collector.ts';
import { getOnNewConnection } from '../support/processes.ts';
import {
  askToken,
  freePort,
  makeOperator,
  type Service,
  startRedis,
  startServe,
  until,
} from '../support/programs.ts';

/** Code that runs before the program. */
const preload = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
});

/** prom-client loads the API package, for exemplars that we do not use. */
const apiPackage = '@opentelemetry/api';

/** Prints the URL of each module of OpenTelemetry that is loaded. */
const printLoaded = preload(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      if (url.includes('node_modules/@opentelemetry')) console.error('loaded ' + url);
      return next(url, context);
    },
  });`);

/** As if the packages were not installed. */
const hidePackages = preload(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      const isHidden = specifier.startsWith('@opentelemetry/') && specifier !== '${apiPackage}';
      if (!isHidden) return next(specifier, context);
      throw Object.assign(new Error('Cannot find package ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' });
    },
  });`);

const prepare = async (changes: Record<string, string>) => {
  const env = environment(await createDatabase(), { LOG_LEVEL: 'info', ...changes });
  return { env, operator: await makeOperator(env) };
};

const loadedModules = ({ program }: Service) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('loaded ') && !line.includes(`${apiPackage}/`));

const warnings = ({ program }: Service, text: string) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":40') && line.includes(text));

const stop = async ({ program }: Service) => {
  program.kill('SIGTERM');
  assert.equal(await program.gone(), 0, program.output());
};

test('without OTEL_* no part of the SDK of OpenTelemetry is loaded, and no log line has a trace id', async () => {
  const { env, operator } = await prepare(printLoaded);
  const off = await startServe(env);
  assert.equal((await askToken(off.url, operator)).status, 200);
  assert.ok(!off.program.output().includes('trace_id'));
  await stop(off);
  assert.deepEqual(loadedModules(off), []);

  // The same look at the modules finds them when tracing is on.
  const on = await startServe({ ...env, OTEL_TRACES_EXPORTER: 'console' });
  assert.ok(loadedModules(on).length > 0, on.program.output());
  assert.equal((await askToken(on.url, operator)).status, 200);
  await until(
    'spans on standard output',
    async () => /POST \/api\/v1\/token/.test(on.program.output()) || undefined,
  );
});

for (const [protocol, own, other] of [
  ['http/protobuf', 'exporter-trace-otlp-proto', 'exporter-trace-otlp-http'],
  ['http/json', 'exporter-trace-otlp-http', 'exporter-trace-otlp-proto'],
] as const)
  test(`${protocol}: a token request as one trace up to its commit; only its exporter is loaded`, async () => {
    const collector = await startCollector();
    const { env, operator } = await prepare({
      ...printLoaded,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    const service = await startServe(env);
    assert.equal((await askToken(service.url, operator)).status, 200);
    const request = await collector.find('of the request', ({ name }) => name === 'POST /api/v1/token');
    const childOf = (parent: CollectedSpan, child: string) =>
      collector.find(child, ({ name, parentId }) => name === child && parentId === parent.spanId);
    const batch = await childOf(await childOf(request, 'batch.wait tokens.issue'), 'batch tokens.issue');
    assert.equal((await childOf(batch, 'commit')).attributes['db.system.name'], 'postgresql');
    assert.deepEqual(
      [batch.traceId, request.attributes['http.response.status_code'], request.resource['service.name']],
      [request.traceId, 200, 'countersign'],
    );
    assert.equal(
      collector.headers()['content-type'],
      protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
    );
    assert.equal(
      collector.bytes().toString('latin1').startsWith('{"resourceSpans"'),
      protocol === 'http/json',
    );
    await stop(service);
    const loaded = loadedModules(service).join();
    assert.ok(loaded.includes(`${own}/`) && !loaded.includes(`${other}/`), loaded);
  });

test('missing packages and bad values are one warning, and the service works', async () => {
  const { env, operator } = await prepare({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' });
  const missing = await startServe({ ...env, ...hidePackages });
  assert.equal((await askToken(missing.url, operator)).status, 200);
  assert.match(warnings(missing, 'tracing is off').join(), /@opentelemetry\/\* of our package\.json/);

  const wrong = await startServe({
    ...env,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'some',
  });
  assert.equal((await askToken(wrong.url, operator)).status, 200);
  const [line = '', ...others] = warnings(wrong, 'tracing is off');
  assert.match(
    line,
    /OTEL_TRACES_SAMPLER must be one of .*OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json/,
  );
  assert.deepEqual(others, []);
});

test('without a collector requests are answered, one warning is logged, and the process stops in time', async () => {
  const { env, operator } = await prepare({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '20',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
  });
  const service = await startServe(env);
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => askToken(service.url, operator)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  }
  const hasWarned = async () => warnings(service, 'traces cannot be exported').length > 0 || undefined;
  await until('the warning', hasWarned, service.program);
  await stop(service);
  assert.equal(warnings(service, 'traces cannot be exported').length, 1);
  // The queue was full many times.
  assert.ok(warnings(service, 'tracing lost spans').length <= 1);
});

test('an outage of the collector ends with one line, and shutdown exports the last spans', async () => {
  let status = 500;
  const collector = await startCollector(() => status);
  const { env, operator } = await prepare({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_SERVICE_NAME: 'identity',
  });
  const service = await startServe(env);
  await askToken(service.url, operator);
  await until(
    'the warning',
    async () => warnings(service, 'traces cannot be exported').length > 0 || undefined,
    service.program,
  );
  status = 200;
  await until(
    'the end of the outage',
    async () => {
      await askToken(service.url, operator);
      return service.program.output().includes('traces are exported again') || undefined;
    },
    service.program,
  );
  await stop(service);

  const late = await startServe({ ...env, OTEL_BSP_SCHEDULE_DELAY: '3000000' });
  await askToken(late.url, operator);
  collector.spans.length = 0;
  await stop(late);
  const request = collector.spans.find(({ name }) => name === 'POST /api/v1/token');
  assert.equal(request?.resource['service.name'], 'identity');
});

test('each process of WEB_CONCURRENCY has traces, and commands to Redis have spans', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const collector = await startCollector();
  const { env } = await prepare({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    REDIS_URL: redis.url,
    WEB_CONCURRENCY: '2',
  });
  const service = await startServe(env);
  await until(
    'spans of two processes',
    async () => {
      await getOnNewConnection(service, '/api/v1/agents');
      const ids = new Set(collector.spans.map(({ resource }) => resource['service.instance.id']));
      return ids.size === 2 || undefined;
    },
    service.program,
  );
  const isRedis = ({ attributes }: CollectedSpan) => attributes['db.system.name'] === 'redis';
  const command = await collector.find('of Redis', isRedis);
  assert.deepEqual(command.attributes, { 'db.system.name': 'redis' });
  assert.equal(service.program.output().split('tracing is on').length - 1, 1);
  await stop(service);
});
