/** The envelope in which subscribers receive an event, by webhook or by stream. kernel/delivery makes it. */
import type { DomainEvent } from '../domain-event.ts';

export interface Envelope {
  /** The event's id, the same for every subscriber. */
  readonly id: string;
  readonly type: string;
  readonly organizationId: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown> & { agentId: string }>;
}

/** Undefined for events that only the audit log stores: refusals, and events of the operator. */
export type EnvelopeOf = (event: DomainEvent) => Envelope | undefined;
