import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Broker, StreamName } from '../../kernel/ports/broker.ts';
import type { EnvelopeOf } from '../../kernel/ports/envelope.ts';

export interface StreamsDeps {
  /** A pool of its own, with a connection for each stream and one more: a publisher keeps its connection while it waits for the broker. */
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly envelopeOf: EnvelopeOf;
  /** The configured ones. */
  readonly brokers: Partial<Readonly<Record<StreamName, Broker>>>;
}

export interface Streams {
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
  /** Called when the loops have stopped. */
  close(): Promise<void>;
}
