/** Exporters that tell the log about an outage: one warning when exports begin to fail, and one line when they succeed again. */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { ConsoleSpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../kernel/observability/log.ts';
import type { TracingSettings } from './settings.ts';

/** Only the package of the configured protocol is loaded. */
const exporterClasses = {
  'http/protobuf': async () => (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter,
  'http/json': async () => (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter,
} satisfies Record<TracingSettings['protocol'], unknown>;

async function createOtlpExporter(
  protocol: TracingSettings['protocol'],
  options: { timeoutMillis?: number } = {},
): Promise<SpanExporter> {
  const OtlpExporter = await exporterClasses[protocol]();
  return new OtlpExporter(options);
}

export async function createExporter(
  { exporter, protocol }: TracingSettings,
  log: Log,
): Promise<SpanExporter> {
  const chosen = exporter === 'otlp' ? await createOtlpExporter(protocol) : new ConsoleSpanExporter();
  return reportingOutages(chosen, log);
}

function reportingOutages(exporter: SpanExporter, log: Log): SpanExporter {
  let lostSpans = 0;
  const report = (result: ExportResult, spans: number) => {
    if (result.code !== ExportResultCode.SUCCESS) {
      if (lostSpans === 0)
        log.warn(
          { reason: result.error?.message ?? 'unknown' },
          'traces cannot be exported; spans are dropped until the collector answers',
        );
      lostSpans += spans;
    } else if (lostSpans > 0) {
      log.info({ lostSpans }, 'traces are exported again');
      lostSpans = 0;
    }
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        report(result, spans.length);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** Undefined when the collector takes an empty export; otherwise the reason. */
export async function findExportProblem(
  protocol: TracingSettings['protocol'],
  timeoutMillis: number,
): Promise<string | undefined> {
  const exporter = await createOtlpExporter(protocol, { timeoutMillis });
  const result = await new Promise<ExportResult>((resolve) => exporter.export([], resolve));
  await exporter.shutdown();
  return result.code === ExportResultCode.SUCCESS ? undefined : (result.error?.message ?? 'unknown');
}
