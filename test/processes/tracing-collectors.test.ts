/** Traces at collectors: both protocols, outages, and several processes. An outage never affects requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipWithout } from '../support/harness.ts';
import { type CollectedSpan, startCollector } from '../support/peers/otlp-collector.ts';
import { getOnNewConnection } from '../support/processes.ts';
import { askToken, freePort, startRedis, startServe, until } from '../support/programs.ts';
import { loadedModules, prepareTracing, printLoaded, stopTraced, warnings } from '../support/tracing.ts';

for (const [protocol, own, other] of [
  ['http/protobuf', 'exporter-trace-otlp-proto', 'exporter-trace-otlp-http'],
  ['http/json', 'exporter-trace-otlp-http', 'exporter-trace-otlp-proto'],
] as const)
  test(`${protocol}: a token request as one trace up to its commit; only its exporter is loaded`, async () => {
    const collector = await startCollector();
    const { env, operator } = await prepareTracing({
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
    await stopTraced(service);
    const loaded = loadedModules(service).join();
    assert.ok(loaded.includes(`${own}/`) && !loaded.includes(`${other}/`), loaded);
  });

test('without a collector requests are answered, one warning is logged, and the process stops in time', async () => {
  const { env, operator } = await prepareTracing({
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
  await stopTraced(service);
  assert.equal(warnings(service, 'traces cannot be exported').length, 1);
  // The queue was full many times.
  assert.ok(warnings(service, 'tracing lost spans').length <= 1);
});

test('an outage of the collector ends with one line, and shutdown exports the last spans', async () => {
  let status = 500;
  const collector = await startCollector(() => status);
  const { env, operator } = await prepareTracing({
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
  await stopTraced(service);

  const late = await startServe({ ...env, OTEL_BSP_SCHEDULE_DELAY: '3000000' });
  await askToken(late.url, operator);
  collector.spans.length = 0;
  await stopTraced(late);
  const request = collector.spans.find(({ name }) => name === 'POST /api/v1/token');
  assert.equal(request?.resource['service.name'], 'identity');
});

test('each process of WEB_CONCURRENCY has traces, and commands to Redis have spans', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const collector = await startCollector();
  const { env } = await prepareTracing({
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
  await stopTraced(service);
});
