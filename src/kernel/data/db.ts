/**
 * The database as features see it: named queries (the name is the label of
 * `service_db_query_duration_seconds`) and transactions. The driver is adapters/postgres/postgres.ts.
 * Rows come back ready for the wire: timestamps as ISO strings in UTC, counts as numbers.
 */
import type { Sql } from './sql.ts';

export interface Queryable {
  many<Row>(name: string, query: Sql): Promise<Row[]>;
  /** The only row; throws when there is none. */
  one<Row>(name: string, query: Sql): Promise<Row>;
  maybe<Row>(name: string, query: Sql): Promise<Row | undefined>;
  /** Number of rows affected. */
  run(name: string, query: Sql): Promise<number>;
}

export interface Tx extends Queryable {
  /**
   * A write whose result nobody needs: it goes out together with the commit, which saves a round trip. When the database
   * refuses it, nothing of the transaction has happened. Its values must be what the driver can write for sure: texts.
   */
  atCommit(name: string, query: Sql): void;
  /** Runs once the transaction is durable; never when it failed. Must not throw. */
  afterCommit(work: () => void): void;
}

export interface Db extends Queryable {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Calls back when somebody notified the channel, and when something may have been missed. No promise: whoever listens looks by
   * itself now and then. Ends with what is returned.
   */
  listen(channel: string, heard: () => void): () => Promise<void>;
  /** Throws DatabaseAway unless the database answers now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The database cannot be reached or is not able just now: the caller may try again. When the connection was lost during a
 * commit the outcome is unknown; otherwise nothing was changed.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super(
      `cannot use the database: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'DatabaseAway';
  }
}
