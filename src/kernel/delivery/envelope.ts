/**
 * Makes the envelope of an event, with only the fields that the contract lists. All other facts stay in the audit log. Webhooks, streams
 * and `countersign listen` send the same envelope.
 */
import { isRefusalEvent, webhookEventFields, webhookEventOf } from '../../contract/events.ts';
import type { DomainEvent } from '../domain-event.ts';
import { timeOfUuid } from '../ids.ts';

export interface Envelope {
  /** The event's id, the same for every subscriber. */
  readonly id: string;
  readonly type: string;
  readonly organizationId: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown> & { agentId: string }>;
}

/** A domain event, or an audit event with its metadata as `data`: they contain the same facts, and others that are not chosen. */
type EventFacts = Pick<
  DomainEvent,
  'eventId' | 'outcome' | 'organizationId' | 'agentId' | 'timestamp' | 'data'
> & { readonly type: string; readonly notSent?: true };

/** Undefined for events that only the audit log stores: refusals, and events of the operator. */
export const envelopeOf = (event: EventFacts): Envelope | undefined => {
  const { eventId, outcome, organizationId, agentId, timestamp, data } = event;
  const type = webhookEventOf(event.type);
  if (type === undefined || event.notSent || (outcome === 'failure') !== isRefusalEvent(type))
    return undefined;
  const chosen: Record<string, unknown> & { agentId: string } = { agentId };
  for (const name of webhookEventFields[type]) if (data[name] !== undefined) chosen[name] = data[name];
  if (typeof data.expiresIn === 'number') chosen.expiresAt = expiryOf(String(data.tokenId), data.expiresIn);
  return { id: eventId, type, organizationId, timestamp, data: chosen };
};

/** Equals `exp` of the token: whole seconds after its issue, whose time is in the token id (UUID v7). */
const expiryOf = (tokenId: string, seconds: number): string =>
  new Date((Math.floor(timeOfUuid(tokenId) / 1000) + seconds) * 1000).toISOString();
