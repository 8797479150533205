/** Tracing is optional: without it nothing is loaded, and missing packages do not affect requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTracing } from '../../src/adapters/opentelemetry/start-tracing.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import { askToken, startServe, until } from '../support/programs.ts';
import {
  loadedModules,
  preload,
  prepareTracing,
  printLoaded,
  stopTraced,
  warnings,
} from '../support/tracing.ts';

/** As if the packages were not installed. */
const hidePackages = preload(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      const isHidden = specifier.startsWith('@opentelemetry/') && specifier !== '@opentelemetry/api';
      if (!isHidden) return next(specifier, context);
      throw Object.assign(new Error('Cannot find package ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' });
    },
  });`);

test('without OTEL_* no part of the SDK of OpenTelemetry is loaded, and no log line has a trace id', async () => {
  const { env, operator } = await prepareTracing(printLoaded);
  const off = await startServe(env);
  assert.equal((await askToken(off.url, operator)).status, 200);
  assert.ok(!off.program.output().includes('trace_id'));
  await stopTraced(off);
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

test('missing packages and bad values are one warning, and the service works', async () => {
  const { env, operator } = await prepareTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' });
  const missing = await startServe({ ...env, ...hidePackages });
  assert.equal((await askToken(missing.url, operator)).status, 200);
  assert.match(warnings(missing, 'tracing is off').join(), /@opentelemetry\/\* of our package\.json/);

  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  await startTracing({ ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'some' }, log);
  const [line = '', ...others] = lines;
  assert.match(
    line,
    /OTEL_TRACES_SAMPLER must be one of .*OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json/,
  );
  assert.deepEqual(others, []);
});
