/**
 * Tracing as the kernel, the adapters and the features see it. `tracer` is undefined unless the variables OTEL_* turn tracing on, so a
 * place that makes a span costs one comparison without it. adapters/opentelemetry/ has the implementation.
 *
 * Attributes are ids, numbers and names of ours. Nothing that can hold a secret becomes one: no URL, header, body, SQL text or value.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type Attributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** Default: `internal`, a step of this process. */
  readonly kind?: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  /** Spans of other traces that this one works for. */
  readonly links?: readonly Span[];
}

export interface Span {
  /** Fields for a log line. */
  readonly ids: { readonly trace_id: string; readonly span_id: string };
  /** False when it is not sampled or has ended. Then it has no new children. */
  isRecording(): boolean;
  set(attributes: Attributes): void;
  link(other: Span): void;
  /**
   * Of an error only the code or the class is recorded: a message can hold a value. A text is recorded as the code. The second call
   * does nothing.
   */
  end(error?: unknown): void;
  /** The headers that continue this trace in another service. */
  headers(): Readonly<Record<string, string>>;
}

export interface Tracer {
  /** A child of `parent`, by default of the current span. Undefined when there is none or it does not record. */
  startChild(name: string, options?: SpanOptions, parent?: Span): Span | undefined;
  /** A new trace, or with `headers` the next span of the trace that a client sent. The sampler decides whether it records. */
  startRoot(name: string, options?: SpanOptions & { readonly headers?: IncomingHttpHeaders }): Span;
  current(): Span | undefined;
  /** Makes the span the current one for the work and for all that it starts; undefined: no span is the current one. */
  run<T>(span: Span | undefined, work: () => T): T;
}

export let tracer: Tracer | undefined;

/** Once, before the app is made; undefined turns tracing off. */
export function setTracer(chosen: Tracer | undefined): void {
  tracer = chosen;
}

/** Ends the span when the work has ended. */
export async function endWith<T>(span: Span | undefined, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    span?.end();
    return result;
  } catch (error) {
    span?.end(error);
    throw error;
  }
}

/** For work that another request may start: it runs under the span that is the current one now. */
export function inCurrentSpan<T>(work: () => T): () => T {
  const chosen = tracer;
  if (!chosen) return work;
  const span = chosen.current();
  return () => chosen.run(span, work);
}
