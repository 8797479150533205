/** The database port on `pg`: named and timed queries, transactions, and a pool that reconnects after an outage. */

import pg from 'pg';
import { createSemaphore } from '../../kernel/concurrency/semaphore.ts';
import { DatabaseUnavailable, type Db, type Queryable, type Tx, withVariable } from '../../kernel/data/db.ts';
import { isPrepared, type Sql } from '../../kernel/data/sql.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import { type SpanOptions, tracer } from '../../kernel/observability/tracing.ts';
import { Overloaded } from '../../kernel/overloaded.ts';
import { connectTimeoutOf, onUnreplicatedCommit, shortTimeoutOf, unreplicated } from './client.ts';
import { errorKinds, isOutage, kindOf, maySignalFailover } from './errors.ts';
import { createHosts } from './hosts.ts';
import { createListener } from './listen.ts';
import { createPing, pingTimeoutMs, readOnly } from './ping.ts';
import { createPools } from './pools.ts';

export interface PostgresOptions {
  /** With several hosts, the one that accepts writes is used. */
  readonly url: string;
  /** The environment variable that holds it, for the message of a start that fails. */
  readonly variable?: string;
  /** `transaction`: the URL leads to a pooler that may give each transaction another session of the server. */
  readonly pooler?: 'none' | 'transaction';
  /** By default only without a pooler. */
  readonly preparedStatements?: boolean;
  /** The database without the pooler, for LISTEN, which needs a session. */
  readonly directUrl?: string | undefined;
  readonly poolSize: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** No statement timeout, for migrations and the audit commands. Implies `separatePool`. */
  readonly noStatementTimeout?: boolean;
  /** A second pool beside the one that serves requests: it does not feed the pool gauges. */
  readonly separatePool?: boolean;
}

/** The name of the query is the name of its span. Neither its text nor its values are recorded. */
const querySpan: SpanOptions = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } };

const statementTimeoutMs = 20_000;
const maxWaitingPerConnection = 100;
const idleInTransactionTimeoutMs = 60_000;

export function createPostgres(options: PostgresOptions): Db {
  const {
    url,
    variable = 'DATABASE_URL',
    pooler = 'none',
    preparedStatements = pooler === 'none',
    directUrl,
    poolSize,
    log,
    metrics,
    noStatementTimeout = false,
    separatePool = noStatementTimeout,
  } = options;
  const connectTimeout = connectTimeoutOf(url);
  const isPooled = pooler === 'transaction';
  const hosts = createHosts(url, log);
  let listener: ReturnType<typeof createListener> | undefined;
  const serverTimeouts = {
    statement_timeout: noStatementTimeout ? 0 : statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
  };
  const poolConfig: pg.PoolConfig = {
    max: poolSize,
    application_name: 'countersign',
    connectionTimeoutMillis: connectTimeout,
    // A frozen or unreachable server does not enforce its timeout, so the client has one too.
    ...(!noStatementTimeout && { query_timeout: statementTimeoutMs + 2_000 }),
    // A pooler refuses these, or drops them: `begin` sets them.
    ...(!isPooled && serverTimeouts),
    keepAlive: true,
    // `begin` and the first query of a transaction may be sent together.
    pipeline: true,
    types: { getTypeParser: wireParser as typeof pg.types.getTypeParser },
  };
  const begin = isPooled ? beginWith(serverTimeouts) : 'begin';
  /** Opened by the first ping, and kept: when the server has no connection left, the health check still has its own. */
  const pingConfig = {
    ...poolConfig,
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: pingTimeoutMs,
    query_timeout: pingTimeoutMs,
  };
  // Exposed as 0 from the start, so that a rate shows the first one.
  const countError = Object.fromEntries(
    errorKinds.map((kind) => [kind, metrics.counter('service_db_errors_total', { kind })]),
  );
  let connecting = 0;
  /** One permit per connection. A wait for one is an overload; only a failure to open a connection is an outage. */
  const permits = createSemaphore({
    permits: poolSize,
    maxQueue: poolSize * maxWaitingPerConnection,
    maxWaitMs: separatePool ? connectTimeout : shortTimeoutOf(url),
    refusal: () =>
      connecting === poolSize
        ? new DatabaseUnavailable(new Error('no connection could be opened'))
        : new Overloaded('database_connections'),
  });
  /** Connections with a commit that no standby has confirmed. None of them goes back to the pool. */
  const withUnreplicatedCommit = new WeakSet<pg.PoolClient>();
  const pools = createPools({
    hosts,
    config: poolConfig,
    pingConfig,
    onRelease: permits.release,
    onConnect: (client) => onUnreplicatedCommit(client, () => withUnreplicatedCommit.add(client)),
    log,
  });
  if (!separatePool) {
    metrics.gaugeFrom('service_db_pool_size', () => poolSize);
    metrics.gaugeFrom(
      'service_db_pool_active_connections',
      () => pools.queries().totalCount - pools.queries().idleCount,
    );
    metrics.gaugeFrom('service_db_pool_waiting_requests', permits.waiting);
  }

  /** The change is committed: a failure here must not look like a failed change. */
  const runAfterCommit = (callback: () => void) => {
    try {
      callback();
    } catch (error) {
      log.error({ err: error }, 'a callback failed after a commit; the change is stored');
    }
  };

  const timed = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    const span = tracer?.startChild(operation, querySpan);
    try {
      const result = await work();
      span?.end();
      return result;
    } catch (error) {
      const kind = kindOf(error);
      if (kind) countError[kind]?.();
      if (maySignalFailover(error)) hosts.suspect();
      span?.end(error);
      throw withVariable(
        isOutage(error) && !(error instanceof DatabaseUnavailable) ? new DatabaseUnavailable(error) : error,
        variable,
      );
    } finally {
      metrics.observe(
        'service_db_query_duration_seconds',
        { operation },
        (performance.now() - started) / 1000,
      );
    }
  };

  /** Every failure to connect is an outage, with any error code. */
  const connectTo = async (choose: () => pg.Pool) => {
    await hosts.settle();
    return choose()
      .connect()
      .catch((error) => {
        hosts.suspect();
        throw new DatabaseUnavailable(error);
      });
  };

  /** Fails with `Overloaded` while all connections are in use for too long. */
  const connect = async () => {
    await permits.acquire();
    connecting += 1;
    try {
      return await connectTo(pools.queries);
    } catch (error) {
      permits.release();
      throw error;
    } finally {
      connecting -= 1;
    }
  };

  const queryOn = async (
    client: pg.PoolClient,
    query: pg.QueryConfig,
    check?: (result: pg.QueryResult) => void,
  ) => {
    try {
      const result = await client.query(query);
      if (withUnreplicatedCommit.has(client)) throw unreplicated();
      check?.(result);
      client.release();
      return result;
    } catch (error) {
      client.release(isOutage(error) ? (error as Error) : undefined);
      throw error;
    }
  };

  const ping = createPing((query, check) =>
    timed('ping', async () => queryOn(await connectTo(pools.ping), query, check)),
  );

  const configOf = (name: string, statement: Sql): pg.QueryConfig & { text: string } => {
    const { text, values } = statement;
    return preparedStatements && isPrepared(statement) ? { name, text, values } : { text, values };
  };

  const queryable = (run: (query: pg.QueryConfig) => Promise<pg.QueryResult>): Queryable => {
    const query = (name: string, statement: Sql) => timed(name, () => run(configOf(name, statement)));
    return {
      many: async <Row>(name: string, statement: Sql) => (await query(name, statement)).rows as Row[],
      maybe: async <Row>(name: string, statement: Sql) =>
        (await query(name, statement)).rows[0] as Row | undefined,
      async one<Row>(name: string, statement: Sql) {
        const { rows } = await query(name, statement);
        if (rows.length !== 1) throw new Error(`query ${name} returned ${rows.length} rows instead of one`);
        return rows[0] as Row;
      },
      run: async (name, statement) => (await query(name, statement)).rowCount ?? 0,
    };
  };

  return {
    ...queryable(async (query) => queryOn(await connect(), query)),
    async transaction(work) {
      const client = await timed('connect', connect);
      const afterCommit: (() => void)[] = [];
      const writesAtCommit: { name: string; query: Sql }[] = [];
      /** Set when the connection must not go back to the pool, even if the caller swallows the error. */
      let unusable: Error | undefined;
      const send = (query: pg.QueryConfig | string): Promise<pg.QueryResult> =>
        client.query(query as pg.QueryConfig).catch((error) => {
          if (error.code === readOnly) unusable = error;
          throw error;
        });
      const control = (word: string, text = word) => timed(word, () => send(text));
      coalesceWrites(client);
      const begun = control('begin', begin);
      begun.catch(() => {});
      const tx: Tx = {
        ...queryable(async (query) => {
          // A read may be sent together with `begin`. A write waits: if `begin` failed, it would run outside a transaction.
          if (!/^\s*select\b/i.test(query.text)) await begun;
          const result = await send(query);
          await begun;
          return result;
        }),
        atCommit: (name, query) => void writesAtCommit.push({ name, query }),
        afterCommit: (callback) => void afterCommit.push(callback),
      };
      /** `commit` is sent together with the last writes: after a failed write PostgreSQL treats it as `rollback`. */
      const finish = async () => {
        coalesceWrites(client);
        const writes = writesAtCommit.map(({ name, query }) =>
          timed(name, () => send(configOf(name, query))),
        );
        const commit = control('commit');
        await Promise.all(writes).catch(async (error) => {
          // If the driver itself rejected a write, PostgreSQL never saw it and committed the rest.
          if ((await commit).command === 'COMMIT')
            log.error({ err: error }, 'a transaction was committed without one of its writes');
          throw error;
        });
        const { command } = await commit;
        if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
        if (withUnreplicatedCommit.has(client)) {
          unusable = unreplicated();
          hosts.suspect();
          throw new DatabaseUnavailable(unusable);
        }
      };
      let result: Awaited<ReturnType<typeof work>>;
      try {
        result = await work(tx);
        await begun;
        await finish();
        client.release();
      } catch (error) {
        // A connection that is read-only or cannot roll back does not return to the pool.
        await control('rollback').then(
          () => client.release(unusable),
          (rollbackError) => client.release(rollbackError as Error),
        );
        throw error;
      }
      for (const callback of afterCommit) runAfterCommit(callback);
      return result;
    },
    ping,
    listen(channel, onNotification) {
      // A pooler in transaction mode accepts LISTEN, and delivers no notification.
      if (isPooled && directUrl === undefined) {
        log.info({ channel }, 'no notifications through the pooler without DATABASE_DIRECT_URL; polling');
        return async () => {};
      }
      listener ??= createListener({
        hosts: directUrl === undefined ? hosts : createHosts(directUrl, log),
        log,
      });
      return listener(channel, onNotification);
    },
    close: pools.close,
  };
}

/** In one message, so that the settings cost no round trip. */
const beginWith = (settings: Readonly<Record<string, number>>): string =>
  ['begin', ...Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`)].join('; ');

/**
 * Sends the queries of this event-loop turn in one write instead of one per query. pg offers no option for it, so this corks the
 * socket of its connection. Measured: 388 instead of 432 µs of this process's CPU for begin, a read, a write and commit (10 %;
 * alternating rounds).
 */
function coalesceWrites(client: pg.PoolClient): void {
  const { stream } = client.connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Timestamps are parsed into their wire form, `count(*)` into a number, the rest as pg does. */
function wireParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.TIMESTAMPTZ) return wireTime;
  if (oid === pg.types.builtins.INT8) return Number;
  if (oid === pg.types.builtins.DATE) return (value) => value;
  if (oid === textArray) return parseTextArray;
  return pg.types.getTypeParser(oid, format as 'text');
}

const textArray: number = 1009;
const parseQuotedArray = pg.types.getTypeParser(textArray) as (value: string) => string[];

/** Fast path: most arrays hold plain words without quotes. `null` and nested arrays take pg's parser. */
const parseTextArray = (value: string): string[] =>
  value === '{}'
    ? []
    : /["\\]|null|^\{\{/i.test(value)
      ? parseQuotedArray(value)
      : value.slice(1, -1).split(',');

/** Fast path: connections use UTC, so most values have the form `2026-01-02 03:04:05.678+00`, with up to six digits. */
function wireTime(value: string): string {
  const isUtc = value.length >= 22 && value[10] === ' ' && value.endsWith('+00');
  if (!isUtc) return slowWireTime(value);
  const milliseconds = value.slice(20, -3).padEnd(3, '0').slice(0, 3);
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${milliseconds}Z`;
}

/** `infinity` and years beyond the range of Date stay as they are, so that reading them does not fail. */
function slowWireTime(value: string): string {
  const time = readTimestamp(value);
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : value;
}

const readTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
