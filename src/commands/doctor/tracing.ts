/** The collector of traces, where the variables OTEL_* name one. A server works without it, so nothing here is a problem. */
import {
  readTracingState,
  shownEndpoint,
  type TracingSettings,
} from '../../adapters/opentelemetry/settings.ts';
import { type Check, ok, skipped, warning } from './check.ts';

const name = 'tracing';
const remedy = 'run npm install in the folder of countersign, or remove the variables OTEL_*';
const timeoutMs = 3_000;

export const tracingCheck: Check = {
  name,
  remedy,
  async run({ env }) {
    const state = readTracingState(env);
    if (state.kind === 'off') return [skipped(name, 'not configured')];
    if (state.kind === 'invalid')
      return state.problems.map((each) =>
        warning(name, `off: ${each}`, 'correct the variable: docs/operations/tracing.md'),
      );
    const { exporter, protocol, sampler } = state.settings;
    if (exporter === 'console') return [ok(name, `spans go to standard output (${sampler})`)];
    const checked = await checkExport(protocol).catch(() => undefined);
    if (!checked) return [warning(name, 'off: the packages @opentelemetry/* are not installed', remedy)];
    const { reason } = checked;
    return [
      reason === undefined
        ? ok(name, `${shownEndpoint(env)} takes traces (${protocol}, ${sampler})`)
        : warning(
            name,
            `${shownEndpoint(env)} does not take traces: ${reason}`,
            'check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS, and that the collector accepts OTLP over HTTP',
          ),
    ];
  },
};

/** Fails when a package is missing. */
async function checkExport(protocol: TracingSettings['protocol']): Promise<{ reason: string | undefined }> {
  const { findExportProblem } = await import('../../adapters/opentelemetry/exporter.ts');
  return { reason: await findExportProblem(protocol, timeoutMs) };
}
