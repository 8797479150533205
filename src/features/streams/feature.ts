/**
 * Streams: the life-cycle events, published to Kafka, NATS or both, where one is configured. Owns `stream_outbox`, which is
 * written in the transaction of the change, so that nothing is lost while a broker is away. At least once, in order per
 * organization; a repeat has the same event id. Who subscribes there, and what becomes of the messages, is the broker's.
 */

import { type Broker, streamNames } from '../../kernel/ports/broker.ts';
import type { Streams, StreamsDeps } from './deps.ts';
import { createPublisherLoop, createWatchLoop } from './loops.ts';
import { createPublisher } from './publisher.ts';
import { append } from './store.ts';

export function createStreams({ db, log, metrics, brokers, envelopeOf }: StreamsDeps): Streams {
  const streams = streamNames.filter((stream) => brokers[stream]);
  return {
    listener: {
      async inTransaction(tx, events) {
        const envelopes = events.flatMap((event) => envelopeOf(event) ?? []);
        if (envelopes.length > 0) append(tx, streams, envelopes);
      },
    },
    loops: [
      ...streams.map((stream) =>
        createPublisherLoop(stream, createPublisher({ db, log, stream, broker: brokers[stream] as Broker })),
      ),
      createWatchLoop({ db, metrics, streams }),
    ],
    async close() {
      await Promise.all(Object.values(brokers).map((broker) => broker.close()));
      await db.close();
    },
  };
}
