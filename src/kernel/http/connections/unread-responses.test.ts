/** Clients that do not read their responses, against a server with small limits. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import { until } from '../../../../test/support/programs.ts';
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { createStaticContent } from '../responses/static-content.ts';
import type { HttpDeps } from '../server.ts';

const mebibyte = 1024 * 1024;
/** More than the kernel takes over for a client that does not read. */
const bodyBytes = 16 * mebibyte;
const text = 'x'.repeat(bodyBytes);
const script = await createStaticContent(text);

let handled = 0;
let running = 0;
let mostRunning = 0;
let chunks = 0;
beforeEach(() => {
  handled = 0;
  running = 0;
  mostRunning = 0;
  chunks = 0;
});

async function* endless() {
  for (;;) {
    chunks += 1;
    yield 'y'.repeat(mebibyte);
  }
}

const routes = [
  routeAt('GET', '/small', Type.Object({}), async () => {
    handled += 1;
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    await new Promise(setImmediate);
    running -= 1;
    return {};
  }),
  routeAt('GET', '/large', Type.Object({ text: Type.String() }), () => {
    handled += 1;
    return { text };
  }),
  routeAt('GET', '/script', Type.Object({}), () => script),
  routeAt('GET', '/endless', Type.Object({}), () => endless()),
];

async function start(unread: HttpDeps['config']['unread'] = {}) {
  const clients: Socket[] = [];
  // Before the server closes, which would wait for them.
  after(() => {
    for (const socket of clients) socket.destroy();
  });
  const http = await startHttp(routes, { unread });
  const url = await http.server.listen({ host: '127.0.0.1', port: 0 });
  const open = () =>
    new Promise<number>((done) => http.server.server.getConnections((_, count) => done(count)));
  /** By the port of the client. */
  const gone: (number | undefined)[] = [];
  http.server.server.on('connection', (socket) => {
    const { remotePort } = socket;
    socket.on('close', () => gone.push(remotePort));
  });
  /** Sends requests and reads nothing. */
  const ask = async (path: string, times = 1) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
    clients.push(socket);
    socket.on('error', () => {}).pause();
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(times));
    return socket;
  };
  return { url, open, ask, gone };
}

describe('a client that does not read its response', () => {
  for (const path of ['/large', '/script', '/endless'])
    it(`is disconnected when it has read nothing for the time allowed: ${path}`, async () => {
      const { ask, open, url } = await start({ stallMs: 500 });
      await ask(path);
      await until('it is connected', async () => (await open()) === 1 || undefined);
      await until('it is disconnected', async () => (await open()) === 0 || undefined);
      assert.equal((await fetch(`${url}/small`)).status, 200);
    });

  it('200 for one that reads slowly, although that takes longer than the time allowed', async () => {
    const stallMs = 3_000;
    const { ask } = await start({ stallMs });
    for (const path of ['/large', '/script']) {
      const socket = await ask(path);
      const started = performance.now();
      let received = 0;
      // Spreads the reads over one and a half times `stallMs`.
      const due = () => ((performance.now() - started) / (stallMs * 1.5)) * bodyBytes;
      while (received < bodyBytes) {
        const chunk = received < due() ? socket.read() : null;
        if (chunk) received += chunk.length;
        else await new Promise((resolve) => setTimeout(resolve, 10));
        assert.ok(!socket.closed, `closed after ${received} bytes`);
      }
      socket.destroy();
    }
  });

  it('is disconnected, the slowest first, when all of them hold more than the limit', async () => {
    const { ask, open, gone, url } = await start({ maxBytes: 6 * bodyBytes, stallMs: 600_000 });
    const ports: (number | undefined)[] = [];
    for (let asked = 0; asked < 30; asked += 1) {
      ports.push((await ask('/large')).localPort);
      await until('it is handled', async () => handled > asked || undefined);
      await until('the slowest are disconnected', async () => (await open()) <= 7 || undefined);
    }
    // Those closed by one sweep may be gone in any order.
    assert.deepEqual(new Set(gone), new Set(ports.slice(0, gone.length)));
    assert.equal((await (await fetch(`${url}/large`)).text()).length > bodyBytes, true);
  });

  it('counts nothing for content that all responses share', async () => {
    const { ask, open, gone } = await start({ maxBytes: bodyBytes, stallMs: 600_000 });
    for (let asked = 0; asked < 20; asked += 1) await ask('/script');
    await until('all are connected', async () => (await open()) === 20 || undefined);
    await ask('/small');
    await until('one more is served', async () => handled === 1 || undefined);
    assert.equal(gone.length, 0);
  });

  it('a long response is generated only as fast as it is sent', async () => {
    const { ask, open } = await start({ stallMs: 1_500 });
    await ask('/endless');
    await until('it is disconnected', async () => (chunks > 0 && (await open()) === 0) || undefined);
    assert.ok(chunks < 32, `${chunks} MiB were made`);
  });
});

describe('pipelined requests', () => {
  it('200 each in order, and one is handled at a time', async () => {
    const { ask } = await start();
    const socket = await ask('/small', limits.pipelinedRequests + 1);
    let received = '';
    socket.on('data', (chunk) => (received += chunk)).resume();
    const statuses = () => received.match(/HTTP\/1\.1 \d+/g) ?? [];
    await until('all are answered', async () => statuses().length > limits.pipelinedRequests || undefined);
    assert.deepEqual(new Set(statuses()), new Set(['HTTP/1.1 200']));
    assert.deepEqual([handled, mostRunning], [limits.pipelinedRequests + 1, 1]);
  });

  it('the next is not handled while the response before it is unread', async () => {
    const { ask, open } = await start({ stallMs: 1_000 });
    await ask('/large', 20);
    await until('it is disconnected', async () => (handled > 0 && (await open()) === 0) || undefined);
    assert.equal(handled, 1);
  });

  it('close the connection when too many wait, and the rest is not handled', async () => {
    const { ask, open } = await start();
    await ask('/small', 2_000);
    await until('it is disconnected', async () => (handled > 0 && (await open()) === 0) || undefined);
    assert.ok(handled <= limits.pipelinedRequests + 1, `${handled} were handled`);
  });
});
