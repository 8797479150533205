/**
 * The spans of a batcher. Each request that waits has a span `batch.wait` in its own trace. The batch itself is one span with the
 * queries and the commit as its children. It is in the trace of the first request; the other requests are linked with it.
 */
import { endWith, type Span, tracer } from './tracing.ts';

/** From now until the item has its result. */
export const startWait = (name: string): Span | undefined =>
  tracer?.startChild(`batch.wait ${name}`, { attributes: { 'batch.name': name } });

export function runInBatchSpan<T>(
  name: string,
  waits: readonly (Span | undefined)[],
  run: () => Promise<T>,
): Promise<T> {
  if (!tracer) return run();
  const [first, ...others] = waits.filter((wait) => wait !== undefined);
  const attributes = { 'batch.name': name, 'batch.size': waits.length };
  const span = first && tracer.startChild(`batch ${name}`, { attributes, links: others }, first);
  if (span) for (const wait of others) wait.link(span);
  // Also without a span: the batcher may have been started by a request that has no item in this batch.
  return endWith(span, tracer.run(span, run));
}
