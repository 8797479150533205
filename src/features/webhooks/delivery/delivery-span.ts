/**
 * The trace of a delivery: a root span, whose children are the call of the receiver and the record of its result. The event that
 * caused the delivery is in an earlier trace, often of another process: `countersign.event_id` is its id in the audit log, where
 * `metadata.requestId` names the request.
 */
import { endWith, tracer } from '../../../kernel/observability/tracing.ts';
import type { Job } from './lease-store.ts';

export function inDeliverySpan(job: Job, deliver: () => Promise<void>): Promise<void> {
  if (!tracer) return deliver();
  const span = tracer.startRoot('webhook.deliver');
  if (span.isRecording()) span.set(attributesOf(job));
  return endWith(span, tracer.run(span, deliver));
}

const attributesOf = (job: Job) => ({
  'countersign.delivery_id': job.deliveryId,
  'countersign.subscription_id': job.subscriptionId,
  'countersign.organization_id': job.organizationId,
  'countersign.agent_id': job.agentId ?? undefined,
  'countersign.event_type': job.eventType,
  'countersign.event_id': String(JSON.parse(job.payload).id),
  'countersign.attempt': job.attemptCount + 1,
});
