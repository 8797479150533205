/** Shutdown: requests in flight finish, no process is left, and a second signal ends the process at once. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createDatabase, createEmptyDatabase, environment, execute } from '../support/harness.ts';
import {
  authorize,
  freePort,
  makeOperator,
  startCountersign,
  startServe,
  until,
} from '../support/programs.ts';
import { type RunningServer, serveInProcess } from '../support/server-in-process.ts';

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly body: string;
  readonly complete: boolean;
}

async function get({ port }: RunningServer, path: string, headers: object, agent: Agent): Promise<Answer> {
  const asked = request({ port, host: '127.0.0.1', path, headers: { ...headers }, agent }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  return {
    status: answer.statusCode,
    connection: answer.headers.connection,
    body,
    complete: answer.complete,
  };
}

/** Ends with the test at the latest; a lost connection does not fail the test. */
async function openSession(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  after(() => client.end());
  return client;
}

/** Makes every request that reads agents wait in PostgreSQL until released. */
async function holdAgents(databaseUrl: string) {
  const client = await openSession(databaseUrl);
  await client.query('begin; lock table agents in access exclusive mode');
  // Not in a transaction, where pg_stat_activity would not change. One connection for all queries: after the
  // signal the service waits for ten seconds only.
  const watching = await openSession(databaseUrl);
  return {
    async waiting(count: number) {
      // Besides background loops, which read agents, too.
      const query = `select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query not like '%signal_streams%'`;
      await until(`${count} requests in flight`, async () =>
        (await watching.query(query)).rowCount === count ? true : undefined,
      );
    },
    release: () => client.end(),
  };
}

async function startWithOperator(start: (env: Record<string, string>) => Promise<RunningServer>) {
  const env = environment(await createDatabase());
  const operator = await makeOperator(env);
  const service = await start(env);
  return {
    service,
    operator,
    headers: await authorize(service.url, operator),
    held: await holdAgents(env.DATABASE_URL),
  };
}

const untilRefused = ({ port, program }: RunningServer) =>
  until('new connections are refused', async () => {
    const socket = connect(port, '127.0.0.1');
    const refused = await once(socket, 'connect').then(
      () => false,
      () => true,
    );
    socket.destroy();
    // An ended process refuses connections too; its exit event may arrive later.
    if (refused) await sleep(200);
    assert.ok(!program.hasEnded(), 'it does not leave before the requests in flight are answered');
    return refused || undefined;
  });

describe('serve stops', { concurrency: 3 }, () => {
  for (const [signal, start] of [
    ['SIGTERM', startServe],
    ['SIGINT', serveInProcess],
  ] as const) {
    test(`on ${signal}: it answers requests in flight, closes idle connections, and exits with 0`, async (t) => {
      const { service, operator, headers, held } = await startWithOperator(start);
      const agent = new Agent({ keepAlive: true });
      t.after(() => agent.destroy());
      // /health does not read agents: these connections become idle and are kept alive.
      await Promise.all([1, 2, 3].map(() => get(service, '/health', {}, agent)));
      const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
      assert.equal(idle.length, 3);
      const silent = connect(service.port, '127.0.0.1');
      await once(silent, 'connect');

      const busy = new Agent({ keepAlive: true });
      t.after(() => busy.destroy());
      const listing = [1, 2, 3, 4].map(() => get(service, '/api/v1/agents', headers, busy));
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: operator.clientId,
        client_secret: operator.clientSecret,
      }).toString();
      const halfSent = request({
        port: service.port,
        host: '127.0.0.1',
        agent: busy,
        path: '/api/v1/token',
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': form.length,
        },
      });
      halfSent.write(form.slice(0, 20));
      await held.waiting(listing.length);

      const dismissed = Promise.all([...idle, silent].map((socket) => once(socket.resume(), 'close')));
      service.program.kill(signal);
      await untilRefused(service);
      await dismissed;
      halfSent.end(form.slice(20));
      const token = once(halfSent, 'response') as Promise<[IncomingMessage]>;
      await held.waiting(listing.length + 1);
      await held.release();

      for (const { status, connection, body, complete } of await Promise.all(listing)) {
        assert.deepEqual([status, connection, complete], [200, 'close', true]);
        assert.equal(JSON.parse(body).total, 1);
      }
      const [granted] = await token;
      assert.deepEqual([granted.statusCode, granted.headers.connection], [200, 'close']);
      assert.ok(JSON.parse(await text(granted)).access_token);
      assert.equal(await service.program.gone(), 0, service.program.output());
    });
  }

  test('at once on a second signal while a request hangs', async () => {
    const { service, headers, held } = await startWithOperator(startServe);
    const hanging = get(service, '/api/v1/agents', headers, new Agent()).catch((error) => error.code);
    await held.waiting(1);
    service.program.kill('SIGTERM');
    await untilRefused(service);
    // A repeat within a quarter of a second counts as the same signal.
    await sleep(500);
    assert.ok(!service.program.hasEnded(), 'the first signal waits for the request');
    service.program.kill('SIGTERM');
    assert.equal(await service.program.gone(), 143, service.program.output());
    assert.equal(await hanging, 'ECONNRESET');
    await held.release();
  });

  test('gracefully when a signal is repeated at once, as with Ctrl-C through npm', async () => {
    const { service, headers, held } = await startWithOperator(serveInProcess);
    const listing = get(service, '/api/v1/agents', headers, new Agent());
    await held.waiting(1);
    service.program.kill('SIGINT');
    service.program.kill('SIGTERM');
    await untilRefused(service);
    await held.release();
    assert.equal((await listing).status, 200);
    assert.equal(await service.program.gone(), 0, service.program.output());
  });

  test('in bounded time after one signal although a request hangs for ever', async () => {
    const { service, headers, held } = await startWithOperator((env) =>
      startServe(env, [], { shutdownTimeoutMs: 3_000 }),
    );
    const hanging = get(service, '/api/v1/agents', headers, new Agent()).catch((error) => error.code);
    await held.waiting(1);
    service.program.kill('SIGTERM');
    assert.equal(await service.program.gone(), 1, service.program.output());
    assert.equal(await hanging, 'ECONNRESET');
    await held.release();
  });

  test('during its start without leaving a process', async () => {
    const url = await createEmptyDatabase();
    for (const afterMs of [100, 400, 700]) {
      const program = startCountersign(['serve'], environment(url, { PORT: String(await freePort()) }));
      await sleep(afterMs);
      program.kill('SIGTERM');
      // The signal itself, when it arrived before the handlers were installed.
      assert.ok([0, 'SIGTERM'].includes(await program.gone()), program.output());
      assert.equal(program.output(), '');
      await until('no session is left', async () => {
        const sessions = await execute(
          url,
          `select from pg_stat_activity where application_name = 'countersign'
          and datname = current_database()`,
        );
        return sessions.length === 0 || undefined;
      });
    }
    await startServe(environment(url));
  });

  test('with 0 while it waits for another node to migrate; an interrupted migration is rolled back', async () => {
    const url = await createEmptyDatabase();
    const other = await openSession(url);
    // The migration lock of kernel/data/locks.ts.
    await other.query('begin; select pg_advisory_xact_lock(7263544001)');
    const program = startCountersign(['serve'], environment(url, { PORT: String(await freePort()) }));
    await until('it waits', async () => {
      const waiting = await execute(
        url,
        `select from pg_stat_activity
        where wait_event = 'advisory' and datname = current_database()`,
      );
      return waiting.length > 0 ? true : undefined;
    });
    program.kill('SIGTERM');
    assert.equal(await program.gone(), 0, program.output());
    await other.query('rollback');
    assert.deepEqual(await execute(url, "select from pg_tables where tablename = 'agents'"), []);
  });

  test('after SHUTDOWN_DELAY_SECONDS, in which it serves and /readyz answers 503', async () => {
    const service = await serveInProcess(
      environment(await createDatabase(), { SHUTDOWN_DELAY_SECONDS: '3' }),
    );
    const statusOf = async (path: string) => (await fetch(`${service.url}${path}`)).status;
    assert.equal(await statusOf('/readyz'), 200);
    service.program.kill('SIGTERM');
    await until('it is not ready', async () => (await statusOf('/readyz')) === 503 || undefined);
    assert.deepEqual([await statusOf('/livez'), await statusOf('/health')], [200, 200]);
    assert.equal(await service.program.gone(), 0, service.program.output());
  });

  test('after it answers every request sent by busy keep-alive clients', async () => {
    const env = environment(await createDatabase());
    const operator = await makeOperator(env);
    const service = await serveInProcess(env);
    const headers = await authorize(service.url, operator);
    const lost: string[] = [];
    let answered = 0;
    const client = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const asked = request({
          port: service.port,
          host: '127.0.0.1',
          path: '/api/v1/agents?limit=1',
          headers,
          agent,
        }).end();
        try {
          const [answer] = (await once(asked, 'response')) as [IncomingMessage];
          await text(answer);
          answered += 1;
        } catch (error) {
          // A new connection is refused, which is expected.
          if (asked.reusedSocket) lost.push(String(error));
          return agent.destroy();
        }
      }
    };
    const clients = Array.from({ length: 30 }, client);
    await until('the clients are busy', async () => answered > 100 || undefined);
    service.program.kill('SIGTERM');
    await Promise.all(clients);
    assert.deepEqual(lost, []);
    assert.equal(await service.program.gone(), 0, service.program.output());
  });
});
