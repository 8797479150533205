/**
 * The database as features see it: named queries (the name is the label of
 * `service_db_query_duration_seconds`) and transactions. The driver is adapters/postgres/postgres.ts.
 * Rows come back ready for the wire: timestamps as ISO strings in UTC, counts as numbers.
 */
import { Overloaded } from '../overloaded.ts';
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
   * A write without a result: it is sent together with the commit, which saves a round trip. If the database refuses it, the
   * transaction is rolled back. Its values must be texts or buffers, which the driver can always serialize.
   */
  atCommit(name: string, query: Sql): void;
  /** Runs after a successful commit. Must not throw. */
  afterCommit(work: () => void): void;
}

export interface Db extends Queryable {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Calls `onNotify` on a notification of the channel, and after a reconnect, when notifications may have been lost. Delivery is
   * best effort: listeners also poll. The returned function stops listening.
   */
  listen(channel: string, onNotify: () => void): () => Promise<void>;
  /** Throws DatabaseUnavailable unless the database answers now. It has a connection of its own, apart from the pool's. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The database cannot be reached or refuses work for now: the caller may retry. If the connection was lost during a commit the
 * outcome is unknown; otherwise nothing was changed.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super(
      `cannot use the database: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'DatabaseUnavailable';
  }
}

const variables = new WeakMap<Error, string>();

/** Remembers the environment variable with the address of the database that failed. Returns the error. */
export function withVariable(error: unknown, variable: string): unknown {
  if (error instanceof Error) variables.set(error, variable);
  return error;
}

export const variableOf = (error: unknown): string =>
  (error instanceof Error && variables.get(error)) || 'DATABASE_URL';

/** Work that failed for this reason can be repeated later. */
export const isTemporary = (error: unknown): error is DatabaseUnavailable | Overloaded =>
  error instanceof DatabaseUnavailable || error instanceof Overloaded;
