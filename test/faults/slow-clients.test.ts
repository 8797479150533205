/** Clients that dawdle, by mishap or on purpose: they are dismissed in time and nobody else notices them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, environment, startApp } from '../support/harness.ts';
import { type Service, startServe, until } from '../support/programs.ts';
import { startTraffic } from '../support/traffic.ts';

/** Node looks every 2 s, and this machine may be busy. */
const headersMs = 15_000;
const slackMs = 60_000;

/** Takes in what it is sent, but never closes its own end: that is how to hold a connection that one was told to leave. */
async function clingTo({ port }: Service): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** A byte a second, for as long as the other side listens; answers what came back and after how long. */
async function dawdle(
  socket: Socket,
  beginning: string,
  drip: string,
): Promise<{ said: string; ms: number }> {
  const started = performance.now();
  let said = '';
  socket.on('data', (chunk) => (said += chunk));
  const ended = once(socket, 'end');
  socket.write(beginning);
  const dripping = setInterval(() => socket.write(drip), 1_000);
  await ended;
  clearInterval(dripping);
  return { said, ms: performance.now() - started };
}

const openFiles = async ({ url }: Service) =>
  Number(/^process_open_fds (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);

const service = await startServe(environment(await createDatabase()));

describe('slow clients', { concurrency: true }, () => {
  // src/kernel/http/server.test.ts shows what becomes of whoever takes longer, a body included.
  test('15 s for headers and 30 s for a request are what the app allows', async () => {
    const { app } = await startApp();
    const { headersTimeout, requestTimeout } = app.http.server.server;
    assert.deepEqual([headersTimeout, requestTimeout], [headersMs, 30_000]);
  });

  test('headers at a byte a second: 408 and an end', async () => {
    const socket = await clingTo(service);
    const { said, ms } = await dawdle(socket, 'GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'a');
    assert.match(said, /^HTTP\/1\.1 408 [\s\S]*"code":"REQUEST_TIMEOUT"/);
    assert.ok(ms > headersMs - 1_000 && ms < headersMs + slackMs, `after ${ms} ms`);
  });

  test('five hundred sockets that say nothing: all let go, also those that do not let go themselves, and everybody else is answered as ever meanwhile', async () => {
    const before = await openFiles(service);
    const started = performance.now();
    const traffic = startTraffic([
      () => sleep(200).then(() => fetch(`${service.url}/.well-known/jwks.json`)),
    ]);
    const sockets = await Promise.all(Array.from({ length: 500 }, () => clingTo(service)));
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
