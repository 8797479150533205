/** `countersign worker`: the background loops for any number of `serve --no-worker` processes; over HTTP only probes and metrics. */
import { isTracingOn } from '../adapters/opentelemetry/settings.ts';
import { startTracing } from '../adapters/opentelemetry/start-tracing.ts';
import { createApp } from '../app.ts';
import { loadConfig } from '../kernel/config/config.ts';
import { createLifecycle } from '../kernel/lifecycle.ts';
import { createLog } from '../kernel/observability/log.ts';
import type { Io } from './io.ts';
import { listen, warnOfOpenMetrics } from './serve.ts';

export async function worker(io: Io): Promise<void> {
  const { env } = io;
  const config = loadConfig(env);
  const log = createLog({ level: config.logLevel, traceIds: isTracingOn(env) });
  const lifecycle = createLifecycle(log, io);
  if (config.workerPort > 0) warnOfOpenMetrics(config, log);
  lifecycle.onStop((await startTracing(env, log)).stop);
  const app = await createApp({ config, log, mode: 'probes' });
  lifecycle.onStop(app.close);
  try {
    await app.prepare();
    if (config.workerPort > 0) await listen(app, { ...config, port: config.workerPort }, 'WORKER_PORT');
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
  app.loops.start();
  io.exitCode = undefined;
  log.info({ port: config.workerPort }, 'the background loops are running');
}
