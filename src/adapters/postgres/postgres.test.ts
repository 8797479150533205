import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, execute } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';
import { raw, sql } from '../../kernel/data/sql.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { Overloaded } from '../../kernel/overloaded.ts';
import { createPostgres } from './postgres.ts';

async function open() {
  const url = await createDatabase();
  const logs: string[] = [];
  const metrics = createMetrics();
  const log = createLog({ level: 'warn', destination: { write: (line) => void logs.push(line) } });
  const db = createPostgres({ url, poolSize: 2, log, metrics });
  after(() => db.close());
  return { url, db, logs, metrics };
}

describe('the database port', () => {
  it('returns rows in their wire form', async () => {
    const { db } = await open();
    const row = await db.one(
      'test.types',
      sql`select timestamptz '2026-01-02 03:04:05.678+02' as time, count(*) as n, date '2026-01-02' as day`,
    );
    assert.deepEqual(row, { time: '2026-01-02T01:04:05.678Z', n: 1, day: '2026-01-02' });
  });
  it('calls back for each notification, and once more after a reconnect', async () => {
    const { url, db } = await open();
    let notified = 0;
    const stop = db.listen('some-channel', () => {
      notified += 1;
    });
    const untilCalled = async (count: number) => {
      while (notified < count) await sleep(5);
    };
    await untilCalled(1);
    await execute(url, `select pg_notify('other-channel', ''), pg_notify('some-channel', '')`);
    await untilCalled(2);
    await execute(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'countersign-listen' and datname = current_database()`,
    );
    await untilCalled(3);
    await stop();
    await execute(url, `notify "some-channel"`);
    await sleep(50);
    assert.equal(notified, 3);
  });
  it('listens to all channels on one connection, as long as one is wanted', async () => {
    const { url, db } = await open();
    const backends = async () =>
      (
        await execute(
          url,
          "select from pg_stat_activity where application_name = 'countersign-listen' and datname = current_database()",
        )
      ).length;
    const counts = { one: 0, other: 0, late: 0 };
    const listen = (name: keyof typeof counts) =>
      db.listen(name, () => {
        counts[name] += 1;
      });
    const stops = [listen('one'), listen('other')];
    const untilCalled = async (name: keyof typeof counts, count: number) => {
      while (counts[name] < count) await sleep(5);
    };
    await Promise.all([untilCalled('one', 1), untilCalled('other', 1)]);
    stops.push(listen('late'));
    await untilCalled('late', 1);
    await execute(url, `notify "late"`);
    await untilCalled('late', 2);
    assert.deepEqual([counts.one, counts.other], [1, 1], 'of their own channels only');
    assert.equal(await backends(), 1);
    const [stopFirst, ...stopOthers] = stops;
    await stopFirst?.();
    await execute(url, `select pg_notify('one', ''), pg_notify('other', '')`);
    await untilCalled('other', 2);
    assert.equal(counts.one, 1);
    await Promise.all(stopOthers.map((stop) => stop()));
    while ((await backends()) > 0) await sleep(5);
  });
  it('observes each query under its name, and the pool gauges', async () => {
    const { db, metrics } = await open();
    await db.run('test.named', sql`select 1`);
    const text = await metrics.text();
    assert.match(text, /service_db_query_duration_seconds_count\{operation="test.named"\} 1/);
    assert.match(text, /^service_db_pool_active_connections 0$/m);
    await db.transaction(async () => {
      assert.match(await metrics.text(), /^service_db_pool_active_connections 1$/m);
    });
  });
  it('parses text arrays with any content', async () => {
    const { db } = await open();
    const lists = [
      [],
      ['agents:read', 'audit:read'],
      ['a,b', '{c}', 'say "d"', 'e\\f', '', ' g ', 'null', 'NULL', 'ü\u001e'],
      ['x'],
      ['Null and void'],
    ];
    for (const list of lists)
      assert.deepEqual(await db.one('lists', sql`select ${list}::text[] as list`), { list });
    const odd = await db.one(
      'odd',
      sql`select array[null, 'a'] as some, array[array['a'], array['b']] as deep`,
    );
    assert.deepEqual(odd, { some: [null, 'a'], deep: [['a'], ['b']] });
  });

  it('parses timestamps with any number of digits', async () => {
    const { db } = await open();
    const times = await db.one(
      'test.times',
      sql`select timestamptz '2026-01-02 03:04:05Z' as whole, timestamptz '2026-01-02 03:04:05.1Z' as tenth,
                 timestamptz '2026-01-02 03:04:05.123456Z' as micro, timestamptz '0044-03-15 12:00:00Z BC' as early`,
    );
    assert.deepEqual(times, {
      whole: '2026-01-02T03:04:05.000Z',
      tenth: '2026-01-02T03:04:05.100Z',
      micro: '2026-01-02T03:04:05.123Z',
      early: '-000043-03-15T12:00:00.000Z',
    });
  });
  it('runs atCommit writes last; when one fails, the transaction is rolled back', async () => {
    const { db } = await open();
    await db.run('test.table', sql`create table things (n int check (n > 0))`);
    const add = async (last: number) =>
      db.transaction(async (tx) => {
        tx.atCommit('test.last', sql`insert into things values (${last})`);
        await tx.run('test.insert', sql`insert into things values (1)`);
        tx.afterCommit(() => committed.push(last));
        return (await tx.many('test.seen', sql`select n from things where n > 1`)).length;
      });
    const committed: number[] = [];
    assert.equal(await add(2), 0, 'not before the commit');
    for (let round = 0; round < 3; round += 1) await assert.rejects(add(-1), /check constraint/);
    assert.equal(await add(3), 1);
    assert.deepEqual(committed, [2, 3]);
    const rows = await db.many<{ n: number }>('test.all', sql`select n from things order by n`);
    assert.deepEqual(
      rows.map(({ n }) => n),
      [1, 1, 2, 3],
    );
  });
  it('sets a statement timeout, except with noStatementTimeout', async () => {
    const { url, db, metrics } = await open();
    const limit = (from: typeof db) => from.one('test.limit', sql`show statement_timeout`);
    assert.deepEqual(await limit(db), { statement_timeout: '20s' });
    const log = createLog({ level: 'silent' });
    const unlimited = createPostgres({ url, poolSize: 1, log, metrics, noStatementTimeout: true });
    after(() => unlimited.close());
    assert.deepEqual(await limit(unlimited), { statement_timeout: '0' });
  });
  it('rolls back a transaction that throws, and releases its connection', async () => {
    const { db } = await open();
    await db.run('test.table', sql`create table things (n int)`);
    for (let round = 0; round < 5; round += 1) {
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.run('test.insert', sql`insert into things values (1)`);
          throw new Error('no');
        }),
        /^Error: no$/,
      );
    }
    assert.deepEqual(await db.one('test.count', sql`select count(*) as n from things`), { n: 0 });
  });
  it('an afterCommit callback that throws does not fail the transaction', async () => {
    const { db, logs } = await open();
    const done = await db.transaction(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('callback failed');
      });
      return 'done';
    });
    assert.equal(done, 'done');
    assert.match(logs.join(''), /callback failed/);
  });
  it('DatabaseUnavailable while the database refuses connections; works again afterwards', async () => {
    const { url, db } = await open();
    const name = new URL(url).pathname.slice(1);
    const elsewhere = new URL('/postgres', url).href;
    const connections = (allowed: boolean) =>
      execute(elsewhere, `alter database ${name} allow_connections ${allowed}`);
    await db.ping();
    await connections(false);
    await execute(elsewhere, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name,
    ]);
    await assert.rejects(db.ping(), DatabaseUnavailable);
    await assert.rejects(db.many('test.query', sql`select 1`), DatabaseUnavailable);
    await assert.rejects(
      db.transaction(async () => {}),
      DatabaseUnavailable,
    );
    await connections(true);
    await db.ping();
  });
  it('DatabaseUnavailable while the database is read-only; read-only connections leave the pool', async () => {
    const { url, db } = await open();
    const name = new URL(url).pathname.slice(1);
    const elsewhere = new URL('/postgres', url).href;
    await db.run('test.table', sql`create table things (n int)`);
    const insert = sql`insert into things values (1)`;
    const writes = {
      alone: () => db.run('test.alone', insert),
      within: () => db.transaction((tx) => tx.run('test.within', insert)),
      'caught within': () =>
        db.transaction(async (tx) => {
          await tx.run('test.within', insert).catch(() => {});
          throw new DatabaseUnavailable('another error');
        }),
      last: () => db.transaction(async (tx) => tx.atCommit('test.last', insert)),
    };
    for (const [which, write] of Object.entries(writes)) {
      await execute(elsewhere, `alter database ${name} set default_transaction_read_only = on`);
      await execute(elsewhere, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
        name,
      ]);
      await assert.rejects(db.ping(), DatabaseUnavailable);
      // A query may get a connection whose end has not arrived yet.
      await until('reads still work', () => db.one('test.read', sql`select 1 as n`));
      await assert.rejects(write(), DatabaseUnavailable, which);
      await execute(elsewhere, `alter database ${name} reset default_transaction_read_only`);
      await db.ping();
      await db.transaction((tx) => tx.run('test.insert', insert));
    }
  });
  it('Overloaded when every connection is in use for too long; ping has its own; works again afterwards', async (t) => {
    const url = `${await createDatabase()}?connectionTimeoutMillis=2500`;
    const metrics = createMetrics();
    const db = createPostgres({ url, poolSize: 2, log: createLog({ level: 'silent' }), metrics });
    after(() => db.close());
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    t.after(() => end());
    const holders = [0, 1].map(() =>
      db.transaction(async (tx) => {
        await tx.run('test.hold', sql`select 1`);
        await ended;
      }),
    );
    const refused = assert.rejects(db.many('test.query', sql`select 1`), Overloaded);
    const alsoRefused = assert.rejects(
      db.transaction(async () => {}),
      Overloaded,
    );
    assert.match(await metrics.text(), /^service_db_pool_waiting_requests 2$/m);
    await Promise.all([db.ping(), db.ping()]);
    await Promise.all([refused, alsoRefused]);
    assert.doesNotMatch(await metrics.text(), /^service_db_errors_total\{.*\} [1-9]/m);
    await db.ping();
    const waited = db.one('test.query', sql`select 1 as n`);
    end();
    assert.deepEqual(await waited, { n: 1 });
    await Promise.all(holders);
    assert.deepEqual(
      await Promise.all([1, 2, 3].map((n) => db.one('test.query', sql`select ${n}::int as n`))),
      [1, 2, 3].map((n) => ({ n })),
    );
  });
  it('a connection that is lost or cannot be opened gives its place back', async () => {
    const { url, db } = await open();
    for (let round = 0; round < 3; round += 1) {
      await assert.rejects(
        db.run('test.lost', sql`select pg_terminate_backend(pg_backend_pid())`),
        DatabaseUnavailable,
      );
      await assert.rejects(
        db.transaction((tx) => tx.run('test.lost', sql`select pg_terminate_backend(pg_backend_pid())`)),
        DatabaseUnavailable,
      );
    }
    const name = new URL(url).pathname.slice(1);
    const elsewhere = new URL('/postgres', url).href;
    await execute(elsewhere, `alter database ${name} allow_connections false`);
    for (let round = 0; round < 3; round += 1)
      await assert.rejects(db.many('test.query', sql`select 1`), DatabaseUnavailable);
    await execute(elsewhere, `alter database ${name} allow_connections true`);
    await Promise.all([1, 2, 3].map(() => db.one('test.query', sql`select 1`)));
  });
  it('DatabaseUnavailable for temporary errors only', async () => {
    const { db } = await open();
    // Deadlock, lock timeout, I/O error, full disk, idle session timeout, idle transaction timeout.
    for (const code of ['40P01', '55P03', '58030', '53100', '57P05', '25P03'])
      await assert.rejects(
        db.transaction(async (tx) => {
          await tx.run('test.raise', raw(`do $$ begin raise exception using errcode = '${code}'; end $$`));
        }),
        DatabaseUnavailable,
        code,
      );
    await assert.rejects(db.run('test.wrong', sql`select * from nowhere`), { code: '42P01' });
  });
});
