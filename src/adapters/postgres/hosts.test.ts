/** Several hosts, and commits that no standby has confirmed. */
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBackupClusters } from '../../../test/support/deploy/databases/postgres-backup.ts';
import { startPostgresPair } from '../../../test/support/deploy/databases/postgres-pair.ts';
import {
  createDatabase,
  execute,
  skipWithout,
  withLongConnectTimeout,
} from '../../../test/support/harness.ts';
import { startRelay, throughRelay } from '../../../test/support/peers/relay.ts';
import { freePort, until } from '../../../test/support/programs.ts';
import { DatabaseUnavailable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createMetrics } from '../../kernel/observability/metrics.ts';
import { createPostgres } from './postgres.ts';

function open(t: TestContext, url: string) {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const db = createPostgres({ url, poolSize: 3, log, metrics: createMetrics() });
  t.after(() => db.close());
  return { db, lines };
}

const askPort = sql`select current_setting('port')::int as port`;

describe('several database hosts', { concurrency: 2 }, () => {
  test('hosts that do not answer are skipped; notifications come from the one in use', async (t) => {
    const url = new URL(withLongConnectTimeout(await createDatabase()));
    const dead = `127.0.0.1:${await freePort()}`;
    const several = url.href.replace(url.host, `${dead},${url.host}`);
    const { db, lines } = open(t, several);
    let notified = 0;
    const stop = db.listen('some-channel', () => {
      notified += 1;
    });
    await until('it listens', async () => notified > 0 || undefined);
    assert.deepEqual(await db.one('test.port', askPort), { port: Number(url.port) });
    await db.ping();
    await execute(url.href, `notify "some-channel"`);
    await until('it is notified', async () => notified > 1 || undefined);
    await stop();
    assert.ok(!lines.join('').includes(url.password), 'the password is not in the log');
  });

  test('none answers: unavailable, and one line of the log has the reason of each', async (t) => {
    const [one, other] = [await freePort(), await freePort()];
    const { db, lines } = open(t, `postgres://u:p@127.0.0.1:${one},127.0.0.1:${other}/x`);
    for (let round = 0; round < 3; round += 1) {
      await assert.rejects(db.many('test.query', sql`select 1`), DatabaseUnavailable);
      await assert.rejects(db.ping(), DatabaseUnavailable);
    }
    const reports = lines.map((line) => JSON.parse(line)).filter(({ hosts }) => hosts);
    assert.equal(reports.length, 1, lines.join(''));
    for (const [index, port] of [one, other].entries())
      assert.match(reports[0].hosts[index], new RegExp(`127\\.0\\.0\\.1:${port}/x: .*ECONNREFUSED`));
  });

  test('a server with other data is never used', async (t) => {
    const clusters = openBackupClusters();
    if (!clusters) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const [ours, other] = [await clusters.create('ours'), await clusters.create('other')];
    const both = (port: number) =>
      `postgres://postgres@127.0.0.1:${ours.port},127.0.0.1:${port}/countersign?connectionTimeoutMillis=15000`;
    const undecided = open(t, both(other.port));
    await assert.rejects(undecided.db.many('test.query', sql`select 1`), /have different data/);

    const port = await freePort();
    const { db, lines } = open(t, both(port));
    await db.run('test.table', sql`create table things (n int)`);
    // The second host begins to answer, and the first one ends.
    const relay = createServer((socket) => {
      const forward = connect(other.port, '127.0.0.1');
      for (const each of [socket, forward]) each.on('error', () => {});
      socket.pipe(forward).pipe(socket);
    });
    relay.listen(port, '127.0.0.1');
    t.after(() => relay.close());
    await ours.stop();
    await until('the other server is in the log', async () => {
      await assert.rejects(db.many('test.query', sql`select from things`), DatabaseUnavailable);
      return lines.some((line) => line.includes('is no copy of the database in use')) || undefined;
    });
  });

  test('a role without privileges can tell the timeline', async () => {
    const url = await createDatabase();
    const rows = await execute(
      url,
      `select p.proname from pg_proc p where p.proname in ('pg_control_system', 'pg_walfile_name', 'pg_current_wal_lsn')
       and not has_function_privilege('public', p.oid, 'execute')`,
    );
    assert.deepEqual(rows, []);
  });

  test('a primary that becomes read-only is left for the promoted standby, with all its connections', async (t) => {
    const pair = await startPostgresPair();
    if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const { primary, standby } = pair;
    const { db, lines } = open(t, pair.url);
    await db.run('test.table', sql`create table things (n int)`);
    const insert = (n: number) => db.run('test.insert', sql`insert into things values (${n})`);
    await Promise.all([1, 2, 3].map(insert));
    assert.deepEqual(await db.one('test.port', askPort), { port: primary.port });

    await execute(primary.url, 'alter system set default_transaction_read_only = on');
    await execute(primary.url, 'select pg_reload_conf()');
    await until('writes fail', () =>
      insert(4).then(
        () => undefined,
        (error) => {
          assert.ok(error instanceof DatabaseUnavailable, String(error));
          return true;
        },
      ),
    );
    await assert.rejects(db.ping(), DatabaseUnavailable);
    await pair.promote();
    await until('writes work', () => insert(5).then(() => true));
    assert.deepEqual(await db.one('test.port', askPort), { port: standby.port });
    await until('no connection to the former primary is left', async () => {
      const left = await execute(
        primary.url,
        `select from pg_stat_activity where application_name = 'countersign'`,
      );
      return left.length === 0 || undefined;
    });
    await db.ping();
    const switches = lines.filter((line) => line.includes('another database server accepts the writes'));
    assert.equal(switches.length, 1, lines.join(''));
  });

  test('a primary that stops answering: the health check finds its successor, and frees the waiting connections', async (t) => {
    const pair = await startPostgresPair();
    if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const { primary, standby } = pair;
    const relay = await startRelay(primary.port);
    const url = pair.url
      .replace(`:${primary.port},`, `:${relay.port},`)
      .replace('connectionTimeoutMillis=60000', 'connectionTimeoutMillis=15000');
    const { db } = open(t, url);
    await db.run('test.table', sql`create table things (n int)`);
    await db.ping();
    await until('the standby has the table', () => execute(standby.url, 'select from things'));
    let notified = 0;
    const stop = db.listen('some-channel', () => {
      notified += 1;
    });
    await until('it listens', async () => notified > 0 || undefined);
    relay.freeze();
    const started = performance.now();
    const hanging = [1, 2, 3].map((n) =>
      db
        .run('test.insert', sql`insert into things values (${n})`)
        .then(
          () => 'acknowledged',
          (error) => (error instanceof DatabaseUnavailable ? 'unavailable' : error),
        )
        .then((outcome) => ({ outcome, ms: performance.now() - started })),
    );
    await pair.promote();
    await until('the health check succeeds', () => db.ping().then(() => true));
    const found = performance.now() - started;
    for (const { outcome, ms } of await Promise.all(hanging)) {
      assert.equal(outcome, 'unavailable');
      assert.ok(ms < found + 5_000, `freed after ${ms} ms, the successor was found after ${found}`);
    }
    assert.deepEqual(await db.one('test.port', askPort), { port: standby.port });
    await db.run('test.insert', sql`insert into things values (4)`);
    assert.deepEqual(await execute(standby.url, 'select n from things'), [{ n: 4 }]);

    await until('it listens to the successor', async () => notified > 1 || undefined);
    await execute(standby.url, `notify "some-channel"`);
    await until('it is notified', async () => notified > 2 || undefined);
    await stop();
  });

  test('the listener of a frozen host can be stopped', async (t) => {
    const url = withLongConnectTimeout(await createDatabase());
    const relay = await startRelay(Number(new URL(url).port));
    const { db } = open(t, throughRelay(url, relay));
    let notified = 0;
    const stop = db.listen('some-channel', () => {
      notified += 1;
    });
    await until('it listens', async () => notified > 0 || undefined);
    relay.freeze();
    await stop();
  });

  test('a silent standby delays no query after a lost connection; its later answer counts', async (t) => {
    const pair = await startPostgresPair();
    if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const { primary, standby } = pair;
    const relay = await startRelay(standby.port);
    const url = pair.url
      .replace(`:${standby.port}/`, `:${relay.port}/`)
      .replace('connectionTimeoutMillis=60000', 'connectionTimeoutMillis=300000');
    /** For which a host without an answer is waited. */
    const silenceMs = 120_000;
    const { db, lines } = open(t, url);
    await db.run('test.table', sql`create table things (n int)`);
    relay.freeze();
    const started = performance.now();
    for (let round = 0; round < 3; round += 1) {
      const lost = db.run('test.lost', sql`select pg_terminate_backend(pg_backend_pid())`);
      await assert.rejects(lost, DatabaseUnavailable);
      assert.deepEqual(await db.one('test.port', askPort), { port: primary.port });
      // The hosts are asked at most twice a second.
      await sleep(600);
    }
    const took = performance.now() - started;
    assert.ok(took < silenceMs, `the queries took ${took} ms`);

    // The standby answers late, as the successor.
    await pair.promote();
    await relay.restore();
    await until('the successor is used', async () => {
      const { port } = await db.one<{ port: number }>('test.port', askPort);
      return port === standby.port || undefined;
    });
    await until(
      'the former primary is in the log',
      async () =>
        lines.some((line) => line.includes('a former primary of the database accepts writes')) || undefined,
    );
  });

  test('a commit that no standby has confirmed is not acknowledged', async (t) => {
    const pair = await startPostgresPair();
    if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const { db } = open(t, pair.primary.url);
    await db.run('test.table', sql`create table things (n int)`);
    await pair.makeSynchronous();
    await db.run('test.insert', sql`insert into things values (1)`);
    pair.standby.program.kill('SIGKILL');
    await pair.standby.program.ended();

    const told: string[] = [];
    const writes = [
      db.run('test.insert', sql`insert into things values (2)`),
      db.transaction(async (tx) => {
        await tx.run('test.insert', sql`insert into things values (3)`);
        tx.afterCommit(() => told.push('committed'));
      }),
    ];
    let ended = 0;
    for (const write of writes)
      void write
        .catch(() => {})
        .finally(() => {
          ended += 1;
        });
    // The statement timeout does the same after twenty seconds.
    await until('both waits are cancelled', async () => {
      await execute(
        pair.primary.url,
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      );
      return ended === writes.length || undefined;
    });
    for (const write of writes)
      await assert.rejects(write, (error) => {
        assert.ok(error instanceof DatabaseUnavailable);
        assert.match(error.message, /no synchronous standby confirmed the commit/);
        return true;
      });
    assert.deepEqual(told, []);
    await execute(pair.primary.url, `alter system set synchronous_standby_names = ''`);
    await execute(pair.primary.url, 'select pg_reload_conf()');
    await until('writes work', () => db.run('test.insert', sql`insert into things values (4)`));
  });
});
