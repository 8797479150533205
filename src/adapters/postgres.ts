/** The database port on `pg`: named and timed queries, transactions, and a pool that heals after an outage. */
import pg from 'pg';
import { DatabaseAway, type Db, type Queryable, type Tx } from '../kernel/db.ts';
import type { Log } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Sql } from '../kernel/sql.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createPostgres({ url, poolSize, log, metrics }: PostgresOptions): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'countersign',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 60_000,
    types: { getTypeParser: wireParser as typeof pg.types.getTypeParser },
  });
  // Without a listener the loss of a connection, idle or in use, would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  pool.on('connect', (client) => client.on('error', () => {}));
  metrics.gaugeFrom('service_db_pool_active_connections', () => pool.totalCount - pool.idleCount);
  metrics.gaugeFrom('service_db_pool_waiting_requests', () => pool.waitingCount);

  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      throw isOutage(error) ? new DatabaseAway(error) : error;
    } finally {
      metrics.observe(
        'service_db_query_duration_seconds',
        { operation },
        (performance.now() - started) / 1000,
      );
    }
  };

  const queryable = (runner: Pick<pg.Pool | pg.PoolClient, 'query'>): Queryable => {
    const query = (name: string, { text, values }: Sql) => timed(name, () => runner.query(text, values));
    return {
      many: async <Row>(name: string, statement: Sql) => (await query(name, statement)).rows as Row[],
      maybe: async <Row>(name: string, statement: Sql) =>
        (await query(name, statement)).rows[0] as Row | undefined,
      async one<Row>(name: string, statement: Sql) {
        const { rows } = await query(name, statement);
        if (rows.length !== 1) throw new Error(`query ${name} answered ${rows.length} rows instead of one`);
        return rows[0] as Row;
      },
      run: async (name, statement) => (await query(name, statement)).rowCount ?? 0,
    };
  };

  return {
    ...queryable(pool),
    async transaction(work) {
      const client = await timed('connect', () => pool.connect());
      const committed: (() => void)[] = [];
      const tx: Tx = { ...queryable(client), afterCommit: (callback) => void committed.push(callback) };
      const control = (word: string) => timed(word, () => client.query(word));
      let result: Awaited<ReturnType<typeof work>>;
      try {
        await control('begin');
        result = await work(tx);
        await control('commit');
        client.release();
      } catch (error) {
        // A connection that cannot even roll back is not given back to the pool.
        await control('rollback').then(
          () => client.release(),
          (broken) => client.release(broken as Error),
        );
        throw error;
      }
      for (const callback of committed) callback();
      return result;
    },
    async ping() {
      await timed('ping', () => pool.query('select 1'));
    },
    close: () => pool.end(),
  };
}

/** Timestamps leave the database as they go on the wire; `count(*)` is a number; the rest as pg reads it. */
function wireParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.TIMESTAMPTZ) return (value) => (readTimestamp(value) as Date).toISOString();
  if (oid === pg.types.builtins.INT8) return Number;
  if (oid === pg.types.builtins.DATE) return (value) => value;
  return pg.types.getTypeParser(oid, format as 'text');
}

const readTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

const networkErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/**
 * Connection failures (class 08), shutdown and crash recovery (57P..), too many connections (53300), a password or database
 * that is not accepted (28..., 3D000), or the network.
 */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as { code?: string };
  return (
    networkErrors.has(code) ||
    /^(08|28|3D000|57P0|53300)/.test(code) ||
    /connection terminated|timeout exceeded when trying to connect|connection error/i.test(error.message)
  );
}
