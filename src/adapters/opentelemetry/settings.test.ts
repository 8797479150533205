import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTracingState, shownEndpoint } from './settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test('tracing is on with an endpoint or an exporter, unless it is disabled', () => {
  const kindOf = (env: Record<string, string>) => readTracingState(env).kind;
  assert.equal(kindOf({}), 'off');
  assert.equal(kindOf({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }), 'off');
  assert.equal(kindOf({ OTEL_TRACES_SAMPLER: 'always_on' }), 'off');
  assert.equal(kindOf(endpoint), 'on');
  assert.equal(kindOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }), 'on');
  assert.equal(kindOf({ OTEL_TRACES_EXPORTER: 'otlp' }), 'on');
  assert.equal(kindOf({ OTEL_TRACES_EXPORTER: 'console' }), 'on');
  assert.equal(kindOf({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }), 'off');
  assert.equal(kindOf({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }), 'off');
  // The specification: every other value means false.
  assert.equal(kindOf({ ...endpoint, OTEL_SDK_DISABLED: '1' }), 'on');
  // A value that is not used is not checked.
  assert.equal(kindOf({ ...endpoint, OTEL_SDK_DISABLED: 'true', OTEL_TRACES_SAMPLER: 'some' }), 'off');
});

test('the settings and their defaults', () => {
  assert.deepEqual(readTracingState(endpoint), {
    kind: 'on',
    settings: {
      exporter: 'otlp',
      protocol: 'http/protobuf',
      sampler: 'always_on',
      ratio: 1,
      acceptsContext: true,
      batches: {},
    },
  });
  assert.deepEqual(
    readTracingState({
      OTEL_TRACES_EXPORTER: 'console',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_PROPAGATORS: 'none',
      OTEL_BSP_MAX_QUEUE_SIZE: '4096',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '100',
      OTEL_BSP_SCHEDULE_DELAY: '1000',
      OTEL_BSP_EXPORT_TIMEOUT: '2000',
    }),
    {
      kind: 'on',
      settings: {
        exporter: 'console',
        protocol: 'http/protobuf',
        sampler: 'parentbased_traceidratio',
        ratio: 0.01,
        acceptsContext: false,
        batches: {
          maxQueueSize: 4096,
          maxExportBatchSize: 100,
          scheduledDelayMillis: 1000,
          exportTimeoutMillis: 2000,
        },
      },
    },
  );
});

test('both encodings of OTLP over HTTP; the variable for traces goes first; grpc names the two that work', () => {
  const stateOf = (traces: string, all: string) =>
    readTracingState({
      ...endpoint,
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: traces,
      OTEL_EXPORTER_OTLP_PROTOCOL: all,
    });
  const protocolOf = (traces: string, all: string) => {
    const state = stateOf(traces, all);
    return state.kind === 'on' ? state.settings.protocol : state;
  };
  assert.equal(protocolOf('', 'http/json'), 'http/json');
  assert.equal(protocolOf('http/json', 'grpc'), 'http/json');
  assert.equal(protocolOf('http/protobuf', 'http/json'), 'http/protobuf');
  assert.deepEqual(stateOf('grpc', 'http/json'), {
    kind: 'invalid',
    problems: [
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be http/protobuf or http/json (port 4318 of a collector); grpc is not supported',
    ],
  });
});

test('each bad value is a problem that names its variable', () => {
  const bad: Record<string, string> = {
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'ftp://collector',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/xml',
    OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'brotli',
    OTEL_EXPORTER_OTLP_HEADERS: 'Bearer a-secret',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/no/such/file.pem',
    OTEL_EXPORTER_OTLP_CLIENT_KEY: '/no/such/key.pem',
    OTEL_BSP_MAX_QUEUE_SIZE: '0',
    OTEL_BSP_SCHEDULE_DELAY: '1.5',
  };
  for (const [name, value] of Object.entries(bad)) {
    const state = readTracingState({ ...endpoint, [name]: value });
    assert.ok(state.kind === 'invalid' && state.problems.length === 1, name);
    const [problem = ''] = state.problems;
    assert.ok(problem.startsWith(`${name} must be `), problem);
    // The value may be a secret in the wrong place.
    assert.ok(!problem.includes('a-secret'));
  }
  for (const share of ['2', '-0.1', 'half', 'NaN']) {
    const env = { ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: share };
    assert.equal(readTracingState(env).kind, 'invalid', share);
  }
});

test('the endpoint is shown without user, password and path', () => {
  const url = 'https://user:password@collector.example:4318/path?key=secret';
  assert.equal(shownEndpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: url }), 'https://collector.example:4318');
});
