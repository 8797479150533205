/**
 * The publisher of one stream: reads the head of the outbox, hands it to the broker, and deletes what the broker has stored.
 * One at a time across processes: the lock is held by the transaction that deletes, so it is free as soon as its holder is
 * gone, and one that was cut off from the database cannot delete. Killed in between, the next one publishes the same again.
 */

import type { Db } from '../../kernel/data/db.ts';
import { tryLockGlobal } from '../../kernel/data/locks.ts';
import type { Log } from '../../kernel/observability/log.ts';
import { type Broker, BrokerUnavailable, type StreamName } from '../../kernel/ports/broker.ts';
import { findWaiting, removePublished, type Waiting } from './store.ts';

export interface PublisherDeps {
  readonly db: Db;
  readonly log: Log;
  readonly stream: StreamName;
  readonly broker: Broker;
}

/** One round; rests for some rounds after one that failed. */
export type Publish = (stopping: AbortSignal) => Promise<void>;

const batchSize = 500;
/** A batch is one request to the broker; brokers take a megabyte unless told otherwise, and a character is up to three bytes. */
const batchCharacters = 300_000;
const roundsOfRestAtMost = 10;

const lockOf = { kafka: 'streamKafka', nats: 'streamNats' } as const;

export function createPublisher({ db, log, stream, broker }: PublisherDeps): Publish {
  let failures = 0;
  let rest = 0;
  let complaint: string | undefined;

  /** Whether there is more. The transaction writes nothing before the broker has answered, so it holds up nobody. */
  const publishBatch = (stopping: AbortSignal): Promise<boolean> =>
    db.transaction(async (tx) => {
      if (!(await tryLockGlobal(tx, lockOf[stream]))) return false;
      const waiting = await findWaiting(tx, stream, batchSize);
      if (waiting.length === 0) return false;
      const batch = withinCharacters(waiting, batchCharacters);
      await broker.publish(batch, stopping);
      removePublished(tx, stream, batch);
      tx.afterCommit(() => goesOn(batch.length));
      return batch.length < waiting.length || waiting.length === batchSize;
    });

  const goesOn = (published: number) => {
    if (failures > 0) log.info({ stream, published, failures }, 'events are published again');
    failures = 0;
    complaint = undefined;
  };

  /** One line for each reason, not for each attempt. */
  const complain = (reason: string) => {
    failures += 1;
    rest = Math.min(2 ** failures - 1, roundsOfRestAtMost);
    if (reason !== complaint)
      log.warn({ stream, reason }, 'events cannot be published; they wait in the outbox');
    complaint = reason;
  };

  return async (stopping) => {
    if (rest > 0) {
      rest -= 1;
      return;
    }
    try {
      for (let more = true; more && !stopping.aborted; ) more = await publishBatch(stopping);
    } catch (error) {
      if (!(error instanceof BrokerUnavailable)) throw error;
      if (!stopping.aborted) complain(error.message);
    }
  };
}

/** The first always: one that is too long for a batch goes alone. */
function withinCharacters(waiting: readonly Waiting[], atMost: number): readonly Waiting[] {
  let characters = 0;
  const end = waiting.findIndex(({ envelope }) => {
    characters += envelope.length;
    return characters > atMost;
  });
  return end === -1 ? waiting : waiting.slice(0, Math.max(1, end));
}
