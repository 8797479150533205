/**
 * The port to a message broker: takes events in their order and says when it has them for good. adapters/brokers/kafka.ts and
 * adapters/brokers/nats.ts are the same port twice, loaded where one is configured.
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
   * Resolves once the broker has stored all of them, those of one organization in this order. Otherwise rejects, within a
   * bounded time, with BrokerAway: some may have been stored then, and whoever publishes them again repeats their ids.
   */
  publish(messages: readonly Message[], stopping: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The broker does not take it just now; the reason is for the operator, and holds no secret. */
export class BrokerUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'BrokerAway';
  }
}
