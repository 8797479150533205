/**
 * Streams: publishes the life-cycle events to Kafka, NATS or both, where configured. Owns `stream_outbox`, a transactional outbox:
 * its rows are written with the change, so nothing is lost while a broker is unavailable. Delivery is at least once and ordered per
 * organization; a repeated message has the same event id.
 */

import { auditEvents, webhookEventOf } from '../../contract/events.ts';
import { type Broker, streamNames } from '../../kernel/ports/broker.ts';
import type { Streams, StreamsDeps } from './deps.ts';
import { createPendingGaugeLoop, createPublisherLoop } from './loops.ts';
import { createPublisher } from './publisher.ts';
import { append } from './store.ts';

export function createStreams({ db, clock, log, metrics, brokers, envelopeOf }: StreamsDeps): Streams {
  const streams = streamNames.filter((stream) => brokers[stream]);
  return {
    listener: {
      types: auditEvents.filter((type) => webhookEventOf(type)),
      async inTransaction(tx, events) {
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
    async close() {
      await Promise.all(Object.values(brokers).map((broker) => broker.close()));
      await db.close();
    },
  };
}
