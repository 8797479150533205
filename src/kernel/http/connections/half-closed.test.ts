/** Half-closed connections: the client has ended its sending side and still reads, as `nc -N` does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import { until } from '../../../../test/support/programs.ts';
import Type from '../../../contract/json-schema.ts';
import type { HttpDeps } from '../server.ts';

let reached = 0;
let release = () => {};
let released = Promise.resolve();
beforeEach(() => {
  reached = 0;
  released = new Promise((resolve) => (release = resolve));
});

const routes = [
  routeAt('POST', '/held', Type.Object({}), async () => {
    reached += 1;
    await released;
    return {};
  }),
  routeAt('GET', '/long', Type.Object({ text: Type.String() }), () => ({ text: 'x'.repeat(40_000_000) })),
];

async function start(config: Partial<HttpDeps['config']> = {}) {
  const http = await startHttp(routes, config);
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const open = () =>
    new Promise<number>((done) => http.server.server.getConnections((_, count) => done(count)));
  /** Sends the bytes and ends the client's side. */
  const send = (bytes: string) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.end(bytes);
    return socket;
  };
  /** Sends the bytes; returns all that the server sent before it closed. */
  const exchange = async (bytes: string) => {
    let received = '';
    const socket = send(bytes).on('data', (chunk) => (received += chunk));
    await once(socket, 'close');
    return received;
  };
  return { http, open, send, exchange };
}

const held = 'POST /held HTTP/1.1\r\nHost: a\r\n\r\n';

describe('a half-closed connection', () => {
  it('200 also for a slow response; then it is closed', async () => {
    const { exchange, open } = await start();
    const answer = exchange(held);
    await until('the request is handled', async () => reached === 1 || undefined);
    // Time for the FIN to arrive.
    await sleep(200);
    release();
    assert.match(await answer, /^HTTP\/1.1 200 [\s\S]*\r\n\r\n\{\}$/);
    await until('it is closed', async () => (await open()) === 0 || undefined);
  });

  it('200 for each pipelined request', async () => {
    const { exchange } = await start();
    const answers = exchange(held.repeat(3));
    await until('the request is handled', async () => reached >= 1 || undefined);
    release();
    assert.deepEqual((await answers).match(/HTTP\/1.1 \d+/g), Array(3).fill('HTTP/1.1 200'));
    assert.equal(reached, 3);
  });

  it('400 for an incomplete request; closed without a request', async () => {
    const { exchange, open } = await start();
    assert.equal(await exchange(''), '');
    for (const half of [
      'POST /held HTTP/1.1\r\nHos',
      'POST /held HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      'POST /held HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
    ])
      assert.deepEqual((await exchange(half)).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 400'], half);
    assert.equal(reached, 0);
    await until('all are closed', async () => (await open()) === 0 || undefined);
  });

  it('is closed after the idle timeout when the client does not read', async () => {
    const { send, open } = await start({ idleTimeoutMs: 500 });
    send('GET /long HTTP/1.1\r\nHost: a\r\n\r\n').pause();
    await until('it is connected', async () => (await open()) === 1 || undefined);
    await until('it is closed', async () => (await open()) === 0 || undefined);
  });

  it('200 while the server closes, without delaying it', async () => {
    const { http, exchange } = await start({ closeDelayMs: 100 });
    const answer = exchange(held);
    await until('the request is handled', async () => reached === 1 || undefined);
    // Longer than a test may take.
    const closed = http.close(600_000);
    await sleep(500);
    release();
    assert.match(await answer, /^HTTP\/1.1 200 /);
    await closed;
  });

  it('is closed when the response takes longer than the grace period', async () => {
    const { http, exchange } = await start({ closeDelayMs: 100 });
    const answer = exchange(held);
    await until('the request is handled', async () => reached === 1 || undefined);
    await http.close(200);
    assert.equal(await answer, '');
    release();
  });
});
