/**
 * Streams: publishes the life-cycle events to Kafka, NATS or both, where configured. Owns `stream_outbox`, a transactional outbox:
 * its rows are written with the change, so nothing is lost while a broker is unavailable. Delivery is at least once and ordered per
 * organization; a repeated message has the same event id.
 */

import { auditEvents, webhookEventOf } from '../../contract/events.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import { envelopeOf } from '../../kernel/delivery/envelope.ts';
import type { DomainEvent } from '../../kernel/domain-event.ts';
import { type Broker, type StreamName, streamNames } from '../../kernel/ports/broker.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { createPendingGaugeLoop, createPublisherLoop } from './loops.ts';
import { createPublisher } from './publisher.ts';
import { append } from './store.ts';

interface StreamsDeps extends Pick<SharedDeps, 'clock' | 'log' | 'metrics'> {
  /** A pool of its own, with a connection for each stream and one more: a publisher keeps its connection while it waits for the broker. */
  readonly db: Db;
  /** The configured ones. */
  readonly brokers: Partial<Readonly<Record<StreamName, Broker>>>;
}

export function createStreams({ db, clock, log, metrics, brokers }: StreamsDeps) {
  const streams = streamNames.filter((stream) => brokers[stream]);
  return {
    listener: {
      types: auditEvents.filter((type) => webhookEventOf(type)),
      async inTransaction(tx: Tx, events: readonly DomainEvent[]) {
        const envelopes = events.flatMap((event) => envelopeOf(event) ?? []);
        if (envelopes.length > 0) append(tx, streams, envelopes);
      },
    },
    loops: [
      ...streams.map((stream) =>
        createPublisherLoop(stream, createPublisher({ db, log, stream, broker: brokers[stream] as Broker })),
      ),
      createPendingGaugeLoop({ db, clock, metrics, streams }),
    ],
    /** Called when the loops have stopped. */
    async close() {
      await Promise.all(Object.values(brokers).map((broker) => broker.close()));
      await db.close();
    },
  };
}
