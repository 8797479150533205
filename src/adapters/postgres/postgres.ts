/** The database port on `pg`: named and timed queries, transactions, and a pool that heals after an outage. */

import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseUnavailable, type Db, type Queryable, type Tx } from '../../kernel/data/db.ts';
import { isPrepared, type Sql } from '../../kernel/data/sql.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { listenTo } from './listen.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** For migrations, which take as long as they take: no limit on a statement, and no say in the pool's gauges. */
  readonly patient?: boolean;
  /** Beside the pool that serves requests, whose gauges it leaves alone. */
  readonly aside?: boolean;
}

const connectMs = 5_000;
const statementMs = 20_000;
const pingMs = 2_000;

export function createPostgres(options: PostgresOptions): Db {
  const { url, poolSize, log, metrics, patient = false, aside = patient } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'countersign',
    connectionTimeoutMillis: connectMsOf(url),
    // A server that is frozen or cut off does not enforce its own limit, so there is one on our side too.
    ...(!patient && { statement_timeout: statementMs, query_timeout: statementMs + 2_000 }),
    keepAlive: true,
    options: '-c timezone=UTC',
    // `begin` and the first query of a transaction may go out together.
    pipeline: true,
    idle_in_transaction_session_timeout: 60_000,
    types: { getTypeParser: wireParser as typeof pg.types.getTypeParser },
  });
  // Without a listener the loss of a connection, idle or in use, would end the process.
  // pg hangs the whole client on the error, so only what it says is logged; and when we are leaving it is no news.
  let leaving = false;
  pool.on('error', ({ message, code }: Error & { code?: string }) => {
    if (!leaving) log.warn({ code, reason: message }, 'an idle database connection was lost');
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  if (!aside) {
    metrics.gaugeFrom('service_db_pool_active_connections', () => pool.totalCount - pool.idleCount);
    metrics.gaugeFrom('service_db_pool_waiting_requests', () => pool.waitingCount);
  }

  /** The change is durable: whatever goes wrong now must not look as if it had failed. */
  const afterwards = (callback: () => void) => {
    try {
      callback();
    } catch (error) {
      log.error({ err: error }, 'something failed after a commit');
    }
  };

  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      throw isOutage(error) && !(error instanceof DatabaseUnavailable)
        ? new DatabaseUnavailable(error)
        : error;
    } finally {
      metrics.observe(
        'service_db_query_duration_seconds',
        { operation },
        (performance.now() - started) / 1000,
      );
    }
  };

  /** Whatever keeps us from a connection is an outage, whatever its code. */
  const connect = () =>
    pool.connect().catch((error) => {
      throw new DatabaseUnavailable(error);
    });

  const once = async (query: pg.QueryConfig, check?: (result: pg.QueryResult) => void) => {
    const client = await connect();
    try {
      const result = await client.query(query);
      check?.(result);
      client.release();
      return result;
    } catch (error) {
      client.release(isOutage(error) ? (error as Error) : undefined);
      throw error;
    }
  };

  const queryable = (run: (query: pg.QueryConfig) => Promise<pg.QueryResult>): Queryable => {
    const query = (name: string, statement: Sql) => timed(name, () => run(configOf(name, statement)));
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
    ...queryable(once),
    async transaction(work) {
      const client = await timed('connect', connect);
      const committed: (() => void)[] = [];
      const lastWrites: { name: string; query: Sql }[] = [];
      let spoilt: Error | undefined;
      /** Whatever becomes of the error further up, the connection is known by it. */
      const ask = (query: pg.QueryConfig | string): Promise<pg.QueryResult> =>
        client.query(query as pg.QueryConfig).catch((error) => {
          if (error.code === readOnly) spoilt = error;
          throw error;
        });
      const control = (word: string) => timed(word, () => ask(word));
      inOneWrite(client);
      const begun = control('begin');
      begun.catch(() => {});
      const tx: Tx = {
        ...queryable(async (query) => {
          // A read may go out together with `begin`; a write must not, lest it be done outside a transaction.
          if (!/^\s*select\b/i.test(query.text)) await begun;
          const result = await ask(query);
          await begun;
          return result;
        }),
        atCommit: (name, query) => void lastWrites.push({ name, query }),
        afterCommit: (callback) => void committed.push(callback),
      };
      /** After a write that failed PostgreSQL takes `commit` for `rollback`, so it need not wait to hear of it. */
      const finish = async () => {
        inOneWrite(client);
        const writes = lastWrites.map(({ name, query }) => timed(name, () => ask(configOf(name, query))));
        const commit = control('commit');
        await Promise.all(writes).catch(async (error) => {
          // Refused by the driver, the write never got there, and the commit behind it did.
          if ((await commit).command === 'COMMIT')
            log.error({ err: error }, 'a change was committed without the write that belongs to it');
          throw error;
        });
        const { command } = await commit;
        if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
      };
      let result: Awaited<ReturnType<typeof work>>;
      try {
        result = await work(tx);
        await begun;
        await finish();
        client.release();
      } catch (error) {
        // A connection that cannot be written to, or cannot even roll back, is not given back to the pool.
        await control('rollback').then(
          () => client.release(spoilt),
          (broken) => client.release(broken as Error),
        );
        throw error;
      }
      for (const callback of committed) afterwards(callback);
      return result;
    },
    async ping() {
      const late = new AbortController();
      const limit = sleep(pingMs, undefined, { signal: late.signal }).then(() => {
        throw new DatabaseUnavailable(new Error(`no answer within ${pingMs} ms`));
      });
      const asked = timed('ping', () => once(mode, refuseReadOnly));
      asked.catch(() => {});
      await Promise.race([asked, limit]).finally(() => late.abort());
    },
    listen: (channel, heard) => listenTo({ url, channel, heard, log }),
    close() {
      leaving = true;
      return pool.end();
    },
  };
}

/** How long one waits for a connection. The address may say otherwise, in the driver's own word, as tests do on a busy machine. */
const connectMsOf = (url: string): number =>
  Number(/[?&]connectionTimeoutMillis=(\d+)/.exec(url)?.[1]) || connectMs;

/**
 * A standby, a primary that was demoted, a database whose provider has stopped writes because its disk is full: it can be
 * connected to and read.
 */
const mode: pg.QueryConfig = { text: `select current_setting('transaction_read_only') as read_only` };

function refuseReadOnly({ rows }: pg.QueryResult): void {
  if (rows[0]?.read_only === 'on') throw Object.assign(new Error('it is read-only'), { code: readOnly });
}

/** What is asked in this turn goes out in one piece: each write of its own wakes the server, and costs more than the bytes do. */
function inOneWrite(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

const configOf = (name: string, statement: Sql): pg.QueryConfig & { text: string } => {
  const { text, values } = statement;
  return isPrepared(statement) ? { name, text, values } : { text, values };
};

/** Timestamps leave the database as they go on the wire; `count(*)` is a number; the rest as pg reads it. */
function wireParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.TIMESTAMPTZ) return wireTime;
  if (oid === pg.types.builtins.INT8) return Number;
  if (oid === pg.types.builtins.DATE) return (value) => value;
  if (oid === textArray) return readTexts;
  return pg.types.getTypeParser(oid, format as 'text');
}

const textArray: number = 1009;
const readArray = pg.types.getTypeParser(textArray) as (value: string) => string[];

/** Most hold plain words, which nothing quotes; `null` among them would be written so, in any case. */
const readTexts = (value: string): string[] =>
  value === '{}' ? [] : /["\\]|null|^\{\{/i.test(value) ? readArray(value) : value.slice(1, -1).split(',');

/** Connections are set to UTC, so most need no arithmetic: `2026-01-02 03:04:05.678+00`, with up to six digits. */
function wireTime(value: string): string {
  const usual = value.length >= 22 && value[10] === ' ' && value.endsWith('+00');
  if (!usual) return unusualTime(value);
  const milliseconds = value.slice(20, -3).padEnd(3, '0').slice(0, 3);
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${milliseconds}Z`;
}

/** `infinity`, and years that no Date has, stay as they are: somebody may have written them, and reading must not fail over it. */
function unusualTime(value: string): string {
  const time = readTimestamp(value);
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : value;
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
 * The other side is not able just now, and trying again may help: connection failures (class 08), a password or database
 * that is not accepted (28, 3D000), shutdown and recovery (57P0), a time limit (57014, 25P03), out of resources (53), a disk
 * that fails (58030), no writes (25006), a deadlock or lock given up (40, 55P03), or the network.
 */
const outages = /^(08|28|3D000|57P0|57014|25P03|53|58030|25006|40001|40P01|55P03)/;

/** The connection may stay like this when the database is writable again, or another is in its place: a new one finds out. */
const readOnly = '25006';

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as { code?: string };
  return (
    networkErrors.has(code) ||
    outages.test(code) ||
    /connection terminated|timeout exceeded when trying to connect|connection error|query read timeout/i.test(
      error.message,
    )
  );
}
