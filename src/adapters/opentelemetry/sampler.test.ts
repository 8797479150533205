import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import { createSampler } from './sampler.ts';
import type { TracingSettings } from './settings.ts';

/** Trace ids that a client can choose: the sampler by ratio takes the first for every ratio above 0, the second for none below 1. */
const lowest = '00000000000000000000000000000001';
const highest = 'ffffffff000000000000000000000000';

const create = (sampler: TracingSettings['sampler'], ratio: number) =>
  createSampler({
    exporter: 'otlp',
    protocol: 'http/protobuf',
    acceptsContext: true,
    batches: {},
    sampler,
    ratio,
  });

const remote = (traceId: string, traceFlags: TraceFlags) =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b7ad6b7169203331', traceFlags, isRemote: true });

/** How many of a thousand requests with this context are recorded. */
function recorded(
  sampler: TracingSettings['sampler'],
  ratio: number,
  traceId: string,
  traceFlags: TraceFlags,
): number {
  const made = create(sampler, ratio);
  return Array.from({ length: 1_000 }).filter(
    () =>
      made.shouldSample(remote(traceId, traceFlags), traceId, 'name', SpanKind.SERVER, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED,
  ).length;
}

test("neither the client's flag nor its trace id decides", () => {
  for (const traceId of [lowest, highest])
    for (const flags of [TraceFlags.SAMPLED, TraceFlags.NONE]) {
      assert.equal(recorded('always_on', 1, traceId, flags), 1_000);
      assert.equal(recorded('always_off', 1, traceId, flags), 0);
      assert.equal(recorded('traceidratio', 0, traceId, flags), 0);
      const share = recorded('traceidratio', 0.5, traceId, flags);
      assert.ok(share > 300 && share < 700, `${share} of 1000`);
    }
});

test("with parentbased_* the client's flag decides", () => {
  assert.equal(recorded('parentbased_traceidratio', 0, highest, TraceFlags.SAMPLED), 1_000);
  assert.equal(recorded('parentbased_always_on', 1, lowest, TraceFlags.NONE), 0);
});

test('a span inside a request follows its request', () => {
  const sampler = create('traceidratio', 0.5);
  const local = (traceFlags: TraceFlags) =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId: highest, spanId: 'b7ad6b7169203331', traceFlags });
  for (const [flags, decision] of [
    [TraceFlags.SAMPLED, SamplingDecision.RECORD_AND_SAMPLED],
    [TraceFlags.NONE, SamplingDecision.NOT_RECORD],
  ] as const)
    assert.equal(
      sampler.shouldSample(local(flags), highest, 'name', SpanKind.INTERNAL, {}, []).decision,
      decision,
    );
});
