/** Turns tracing on if the variables OTEL_* ask for it. The packages of OpenTelemetry are loaded only then. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../kernel/config/config.ts';
import type { Log } from '../../kernel/observability/log.ts';
import { setTracer } from '../../kernel/observability/tracing.ts';
import type { OpenTelemetry } from './opentelemetry.ts';
import { readTracingState, shownEndpoint, type TracingSettings } from './settings.ts';

export interface Tracing {
  /** Exports the last spans, as far as the collector takes them in time. */
  stop(): Promise<void>;
}

const lastExportMs = 3_000;
const off: Tracing = { stop: async () => {} };

/**
 * Call it before the app is made. Tracing that cannot start is a warning: the service works without it. Of several processes with the
 * same variables one has `announces`.
 */
export async function startTracing(
  env: Environment,
  log: Log,
  { announces = true }: { announces?: boolean } = {},
): Promise<Tracing> {
  const state = readTracingState(env);
  if (state.kind === 'off') return off;
  if (state.kind === 'invalid') {
    if (announces) log.warn(`tracing is off: ${state.problems.join('; ')}`);
    return off;
  }
  const opentelemetry = await load(state.settings, log).catch((error: NodeJS.ErrnoException) => {
    if (!isMissing(error)) throw error;
    if (announces)
      log.warn(
        { reason: error.message.split('\n', 1)[0] },
        'tracing is off: the packages @opentelemetry/* of our package.json are not installed; run npm install in the folder of countersign',
      );
  });
  if (!opentelemetry) return off;
  const { tracer, shutdown } = opentelemetry;
  setTracer(tracer);
  const { exporter, protocol, sampler } = state.settings;
  const to = exporter === 'otlp' ? { to: shownEndpoint(env), protocol } : { to: 'standard output' };
  if (announces) log.info({ sampler, ...to }, 'tracing is on');
  return {
    async stop() {
      const timeout = new AbortController();
      const late = sleep(lastExportMs, undefined, { signal: timeout.signal }).catch(() => {});
      // A failed export has its own log line.
      await Promise.race([shutdown().catch(() => {}), late]);
      timeout.abort();
    },
  };
}

async function load(settings: TracingSettings, log: Log): Promise<OpenTelemetry> {
  const { createOpenTelemetry } = await import('./opentelemetry.ts');
  return createOpenTelemetry(settings, log);
}

/** From `import`, or from `require` inside a package whose own dependency is missing. */
const isMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
