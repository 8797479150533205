import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Broker, StreamName } from '../../kernel/ports/broker.ts';
import type { EnvelopeOf } from '../../kernel/ports/envelope.ts';

export interface StreamsDeps {
  /** A connection for each stream and one more, apart from those that requests use: a publisher keeps its own while it waits for the broker. */
  readonly db: Db;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly envelopeOf: EnvelopeOf;
  /** Those that are configured. */
  readonly brokers: Partial<Readonly<Record<StreamName, Broker>>>;
}

export interface Streams {
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /** To be called when the loops have stopped. */
  close(): Promise<void>;
}
