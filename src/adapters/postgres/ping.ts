/** The health check of the database, on a connection of its own: a full pool does not look like an unavailable database. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';

/** The whole check; also the limit of its connection and of its query, so that a connection without an answer is dropped. */
export const pingTimeoutMs = 2_000;

/** A standby, a demoted primary or a database with a full disk accepts connections and reads, but no writes. */
const readOnlyCheck: pg.QueryConfig = {
  text: `select current_setting('transaction_read_only') as read_only`,
};

/** `query` runs on the connection and drops it when `check` throws. */
export function createPing(
  query: (query: pg.QueryConfig, check: (result: pg.QueryResult) => void) => Promise<unknown>,
): () => Promise<void> {
  const ping = async () => {
    const timer = new AbortController();
    const timeout = sleep(pingTimeoutMs, undefined, { signal: timer.signal }).then(() => {
      throw new DatabaseUnavailable(new Error(`no answer within ${pingTimeoutMs} ms`));
    });
    const answer = query(readOnlyCheck, rejectReadOnly);
    answer.catch(() => {});
    await Promise.race([answer, timeout]).finally(() => timer.abort());
  };
  let running: Promise<void> | undefined;
  /** Concurrent checks share one. */
  return () => {
    running ??= ping().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** SQLSTATE of a write that a read-only transaction refuses. A connection may stay read-only after a failover. */
export const readOnly = '25006';

function rejectReadOnly({ rows }: pg.QueryResult): void {
  if (rows[0]?.read_only === 'on')
    throw Object.assign(new Error('the database is read-only'), { code: readOnly });
}
