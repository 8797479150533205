/**
 * Streams: the life-cycle events, published to Kafka, NATS or both, where one is configured. Owns `stream_outbox`, which is
 * written in the transaction of the change, so that nothing is lost while a broker is away. At least once, in order per
 * organization; a repeat has the same event id. Who subscribes there, and what becomes of the messages, is the broker's.
 */

import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { type Broker, type StreamName, streamNames } from '../../kernel/ports/broker.ts';
import { envelopeOf } from '../../kernel/ports/envelope.ts';
import { createPublisherLoop, createWatchLoop } from './loops.ts';
import { createPublisher } from './publisher.ts';
import { append } from './store.ts';

export interface StreamsDeps {
  /** A connection for each stream and one more, apart from those that requests use: a publisher keeps its own while it waits for the broker. */
  readonly db: Db;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Those that are configured. */
  readonly brokers: Partial<Readonly<Record<StreamName, Broker>>>;
}

export interface Streams {
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /** To be called when the loops have stopped. */
  close(): Promise<void>;
}

export function createStreams({ db, log, metrics, brokers }: StreamsDeps): Streams {
  const streams = streamNames.filter((stream) => brokers[stream]);
  return {
    listener: {
      async inTransaction(tx, happenings) {
        const told = happenings.flatMap((happening) => envelopeOf(happening) ?? []);
        if (told.length > 0) append(tx, streams, told);
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
