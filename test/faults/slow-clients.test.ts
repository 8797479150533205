/** Slow clients are disconnected in time and do not delay other clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, environment, startApp } from '../support/harness.ts';
import { type Service, startServe, until } from '../support/programs.ts';
import { startTraffic } from '../support/traffic.ts';

/** Node checks timeouts every 2 s, and the machine may be busy. */
const headersMs = 15_000;
const slackMs = 60_000;

/** Reads, but never closes its own end, so the connection stays half open after the server ends it. */
async function connectHalfOpen({ port }: Service): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends a byte per second until the server ends the connection; resolves to the response and the time it took. */
async function sendSlowly(
  socket: Socket,
  beginning: string,
  drip: string,
): Promise<{ response: string; ms: number }> {
  const started = performance.now();
  let response = '';
  socket.on('data', (chunk) => (response += chunk));
  const ended = once(socket, 'end');
  socket.write(beginning);
  const dripping = setInterval(() => socket.write(drip), 1_000);
  await ended;
  clearInterval(dripping);
  return { response, ms: performance.now() - started };
}

const openFiles = async ({ url }: Service) =>
  Number(/^process_open_fds (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);

const service = await startServe(environment(await createDatabase()));

describe('slow clients', { concurrency: true }, () => {
  // src/kernel/http/server.test.ts tests slower clients, also with a slow body.
  test('the app allows 15 s for headers and 30 s for a request', async () => {
    const { app } = await startApp();
    const { headersTimeout, requestTimeout } = app.http.server.server;
    assert.deepEqual([headersTimeout, requestTimeout], [headersMs, 30_000]);
  });

  test('408 REQUEST_TIMEOUT when headers arrive at a byte per second', async () => {
    const socket = await connectHalfOpen(service);
    const { response, ms } = await sendSlowly(socket, 'GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'a');
    assert.match(response, /^HTTP\/1\.1 408 [\s\S]*"code":"REQUEST_TIMEOUT"/);
    assert.ok(ms > headersMs - 1_000 && ms < headersMs + slackMs, `after ${ms} ms`);
  });

  test('the server closes 500 silent sockets, also half-open ones, and serves other clients without delay', async () => {
    const before = await openFiles(service);
    const started = performance.now();
    const traffic = startTraffic([
      () => sleep(200).then(() => fetch(`${service.url}/.well-known/jwks.json`)),
    ]);
    const sockets = await Promise.all(Array.from({ length: 500 }, () => connectHalfOpen(service)));
    await until('all are accepted', async () => (await openFiles(service)) > before + 400 || undefined);
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'end')));
    const ms = performance.now() - started;
    assert.ok(ms < headersMs + slackMs, `after ${ms} ms`);
    await until('the files are closed', async () => (await openFiles(service)) < before + 50 || undefined);

    const exchanges = await traffic.stop();
    assert.ok(exchanges.length > 5, `${exchanges.length} requests`);
    assert.deepEqual(new Set(exchanges.map(({ outcome }) => outcome)), new Set([200]));
    const waits = exchanges.map(({ ms }) => ms - 200).sort((a, b) => a - b);
    const median = waits[Math.floor(waits.length / 2)] ?? 0;
    assert.ok(median < 3_000, `others waited ${median} ms as a rule`);
    assert.ok((waits.at(-1) ?? 0) < 30_000, `others waited up to ${waits.at(-1)} ms`);
  });
});
