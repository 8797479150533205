/**
 * The publisher of one stream: reads the head of the outbox, publishes it to the broker, and deletes the rows that the broker has
 * stored. One publisher at a time across processes: the transaction that deletes holds the lock. So the lock is free when its holder
 * dies, and a publisher that has lost the database cannot delete. After a crash the next publisher repeats the batch.
 */

import type { Db } from '../../kernel/data/db.ts';
import { tryLockGlobal } from '../../kernel/data/locks.ts';
import type { Log } from '../../kernel/observability/log.ts';
import { type Broker, BrokerUnavailable, type StreamName } from '../../kernel/ports/broker.ts';
import { findHead, type OutboxRow, removePublished } from './store.ts';

interface PublisherDeps {
  readonly db: Db;
  readonly log: Log;
  readonly stream: StreamName;
  readonly broker: Broker;
}

/** One round. After a failure it skips rounds (backoff). */
export type Publish = (stopping: AbortSignal) => Promise<void>;

const batchSize = 500;
/** A batch is one request to the broker. The usual limit is a megabyte, and a character takes up to three bytes. */
const batchCharacters = 300_000;
const maxBackoffRounds = 10;

const lockOf = { kafka: 'streamKafka', nats: 'streamNats' } as const;

export function createPublisher({ db, log, stream, broker }: PublisherDeps): Publish {
  let failures = 0;
  let backoffRounds = 0;
  let lastReason: string | undefined;

  /** Returns whether there is more. The transaction writes only after the broker has answered, so it blocks no writers. */
  const publishBatch = (stopping: AbortSignal): Promise<boolean> =>
    db.transaction(async (tx) => {
      if (!(await tryLockGlobal(tx, lockOf[stream]))) return false;
      const head = await findHead(tx, stream, batchSize);
      if (head.length === 0) return false;
      const batch = limitCharacters(head, batchCharacters);
      await broker.publish(batch, stopping);
      removePublished(tx, stream, batch);
      tx.afterCommit(() => resetBackoff(batch.length));
      return batch.length < head.length || head.length === batchSize;
    });

  const resetBackoff = (published: number) => {
    if (failures > 0) log.info({ stream, published, failures }, 'broker available again; events published');
    failures = 0;
    lastReason = undefined;
  };

  /** Logs each reason once, not each attempt. */
  const backOff = (reason: string) => {
    failures += 1;
    backoffRounds = Math.min(2 ** failures - 1, maxBackoffRounds);
    if (reason !== lastReason) log.warn({ stream, reason }, 'broker unavailable; events wait in the outbox');
    lastReason = reason;
  };

  return async (stopping) => {
    if (backoffRounds > 0) {
      backoffRounds -= 1;
      return;
    }
    try {
      for (let more = true; more && !stopping.aborted; ) more = await publishBatch(stopping);
    } catch (error) {
      if (!(error instanceof BrokerUnavailable)) throw error;
      if (!stopping.aborted) backOff(error.message);
    }
  };
}

/** The longest prefix within the limit, and at least one row: a row above the limit is published alone. */
function limitCharacters(rows: readonly OutboxRow[], limit: number): readonly OutboxRow[] {
  let characters = 0;
  const end = rows.findIndex(({ envelope }) => {
    characters += envelope.length;
    return characters > limit;
  });
  return end === -1 ? rows : rows.slice(0, Math.max(1, end));
}
