/** Exporters that tell the log about an outage: one warning when exports begin to fail, and one line when they succeed again. */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { ConsoleSpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../kernel/observability/log.ts';
import type { TracingSettings } from './settings.ts';

export const createExporter = ({ exporter }: TracingSettings, log: Log): SpanExporter =>
  reportingOutages(exporter === 'otlp' ? new OTLPTraceExporter() : new ConsoleSpanExporter(), log);

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
export async function findExportProblem(timeoutMillis: number): Promise<string | undefined> {
  const exporter = new OTLPTraceExporter({ timeoutMillis });
  const result = await new Promise<ExportResult>((resolve) => exporter.export([], resolve));
  await exporter.shutdown();
  return result.code === ExportResultCode.SUCCESS ? undefined : (result.error?.message ?? 'unknown');
}
