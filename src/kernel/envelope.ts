/** What subscribers are told of an event: the delivery envelope of the spec, the same for every way of delivery. */
import { type WebhookEvent, webhookEvents } from '../contract/events.ts';
import type { Happening } from './ledger.ts';

export interface Envelope {
  readonly id: string;
  readonly type: WebhookEvent;
  readonly organizationId: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const told: ReadonlySet<string> = new Set(webhookEvents);

/** Refusals and the operator's own affairs stay in the audit log. */
export const isToldToSubscribers = ({ type, outcome }: Happening): boolean =>
  outcome === 'success' && told.has(type);

export const envelopeOf = ({
  eventId,
  type,
  organizationId,
  agentId,
  timestamp,
  data,
}: Happening): Envelope => ({
  id: eventId,
  type: type as WebhookEvent,
  organizationId,
  timestamp,
  data: { agentId, ...data },
});
