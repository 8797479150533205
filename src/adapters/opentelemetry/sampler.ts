/**
 * Samplers by their names in the specification. The difference: without `parentbased_` the client's context does not influence the
 * decision, neither by its flag nor by its trace id, because any client can write them. Otherwise a client could force the recording
 * of all its requests, or prevent it.
 */
import { type Context, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from './settings.ts';

export function createSampler({ sampler: name, ratio }: TracingSettings): Sampler {
  const root = rootSampler(name.replace('parentbased_', ''), ratio);
  if (name.startsWith('parentbased_')) return new ParentBasedSampler({ root });
  const own = ignoringClients(root);
  return new ParentBasedSampler({ root, remoteParentSampled: own, remoteParentNotSampled: own });
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}

/** Decides by a random trace id in place of the client's. */
function ignoringClients(sampler: Sampler): Sampler {
  const ids = new RandomIdGenerator();
  return {
    shouldSample: (context: Context, _traceId, ...rest) =>
      sampler.shouldSample(trace.deleteSpan(context), ids.generateTraceId(), ...rest),
    toString: () => `IgnoringClients{${sampler.toString()}}`,
  };
}
