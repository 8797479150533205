/** The tracer on the SDK of OpenTelemetry. Our own spans only: no library is patched, so no span holds more than we put into it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { hostname } from 'node:os';
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  type Context as OtelContext,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Log } from '../../kernel/observability/log.ts';
import type { Span, SpanOptions, Tracer } from '../../kernel/observability/tracing.ts';
import { packageRoot } from '../../kernel/package-root.ts';
import { createExporter } from './exporter.ts';
import { createSampler } from './sampler.ts';
import type { TracingSettings } from './settings.ts';

const { version } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'));

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
const propagator = new W3CTraceContextPropagator();

export interface OpenTelemetry {
  readonly tracer: Tracer;
  /** Exports the spans of the queue. */
  shutdown(): Promise<void>;
}

export async function createOpenTelemetry(settings: TracingSettings, log: Log): Promise<OpenTelemetry> {
  reportDroppedSpans(log);
  const exporter = await createExporter(settings, log);
  const provider = new TracerProvider({
    resource: createResource(),
    sampler: createSampler(settings),
    // Its queue is bounded: when the collector is slow or gone, further spans are dropped.
    spanProcessors: [new BatchSpanProcessor({ exporter, ...settings.batches })],
  });
  return { tracer: createTracer(provider, settings), shutdown: () => provider.shutdown() };
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before ours. */
const createResource = (): Resource =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': 'countersign',
        'service.version': version,
        'service.instance.id': randomUUID(),
        'host.name': hostname(),
        'process.pid': process.pid,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));

function createTracer(provider: TracerProvider, { acceptsContext }: TracingSettings): Tracer {
  const tracer = provider.getTracer('countersign', version);
  const current = new AsyncLocalStorage<Span | undefined>();
  const spans = new WeakMap<Span, OtelSpan>();

  const start = (
    name: string,
    { kind = 'internal', attributes, links }: SpanOptions,
    parent: OtelContext,
  ) => {
    const linked = links
      ?.map((link) => spans.get(link))
      .filter((span) => span !== undefined)
      .map((span) => ({ context: span.spanContext() }));
    const made = tracer.startSpan(
      name,
      { kind: kinds[kind], attributes: { ...attributes }, links: linked ?? [] },
      parent,
    );
    const span = wrap(made, (other) => spans.get(other));
    spans.set(span, made);
    return span;
  };

  return {
    startChild(name, options = {}, parent = current.getStore()) {
      const within = parent && spans.get(parent);
      return within?.isRecording() ? start(name, options, trace.setSpan(ROOT_CONTEXT, within)) : undefined;
    },
    startRoot: (name, { headers, ...options } = {}) =>
      start(name, options, headers && acceptsContext ? contextOf(headers) : ROOT_CONTEXT),
    current: () => current.getStore(),
    run: (span, work) => current.run(span, work),
  };
}

/** Headers that are not valid give a new trace. */
const contextOf = ({ traceparent, tracestate }: IncomingHttpHeaders): OtelContext =>
  traceparent === undefined
    ? ROOT_CONTEXT
    : propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);

function wrap(span: OtelSpan, find: (other: Span) => OtelSpan | undefined): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    ids: { trace_id: traceId, span_id: spanId },
    isRecording: () => span.isRecording(),
    set: (attributes) => void span.setAttributes({ ...attributes }),
    link(other) {
      const found = find(other);
      if (found) span.addLink({ context: found.spanContext() });
    },
    end(error) {
      if (!span.isRecording()) return;
      if (error !== undefined) {
        span.setAttribute('error.type', errorType(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
    headers() {
      const headers: Record<string, string> = {};
      propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter);
      return headers;
    },
  };
}

/** The code of a driver, of PostgreSQL or of ours, or the class: names without values. */
function errorType(error: unknown): string {
  const { code, reason, name } = error instanceof Error ? (error as ErrorFields) : { code: error };
  return [code, reason, name].find(isShortName) ?? 'unknown';
}

type ErrorFields = { readonly code?: unknown; readonly reason?: unknown; readonly name?: unknown };

const isShortName = (text: unknown): text is string =>
  typeof text === 'string' && /^[\w.-]{1,40}$/.test(text);

const diagnosticsMs = 60_000;

/** Of the SDK's own messages only warnings are kept, one a minute: a full queue drops spans many times a second. */
function reportDroppedSpans(log: Log): void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  const warn = (message: string) => {
    if (performance.now() - loggedAt < diagnosticsMs) return;
    loggedAt = performance.now();
    log.warn({ reason: message }, 'tracing lost spans');
  };
  const ignore = () => {};
  diag.setLogger(
    { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore },
    { suppressOverrideMessage: true },
  );
  // Failed exports: exporter.ts reports them.
  setGlobalErrorHandler(ignore);
}
