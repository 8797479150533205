/**
 * The port to a message broker: publishes events in order and confirms when they are stored. Implemented by
 * adapters/brokers/kafka.ts and adapters/brokers/nats.ts, which are loaded only when configured.
 */
export const streamNames = ['kafka', 'nats'] as const;
export type StreamName = (typeof streamNames)[number];

export interface Message {
  readonly eventId: string;
  readonly organizationId: string;
  readonly type: string;
  /** The delivery envelope as JSON text. */
  readonly envelope: string;
}

export interface Broker {
  /**
   * Resolves when the broker has stored all messages, those of one organization in this order. Otherwise rejects within a bounded
   * time with BrokerUnavailable. Some messages may then be stored; a retry publishes them again with the same ids.
   */
  publish(messages: readonly Message[], stopping: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The broker does not accept messages now. The reason is for the operator and holds no secret. */
export class BrokerUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BrokerUnavailable';
  }
}
