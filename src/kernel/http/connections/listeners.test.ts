/** Several listening sockets for one port: connections are accepted together, and a port of another server is refused. */
import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, it } from 'node:test';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import Type from '../../../contract/json-schema.ts';

const routes = [routeAt('GET', '/probe', Type.Object({}), () => ({}))];
const loopback = '127.0.0.1';

async function listening() {
  const http = await startHttp(routes);
  await http.listen({ host: loopback, port: 0 });
  return { http, port: (http.server.server.address() as AddressInfo).port };
}

it('accepts 200 connections in fewer than 100 turns of the event loop', {
  skip: process.platform !== 'linux' && 'only Linux distributes connections to several sockets',
}, async () => {
  const { http, port } = await listening();
  let accepted = 0;
  http.server.server.on('connection', () => {
    accepted += 1;
  });
  for (let opened = 0; opened < 200; opened += 1) {
    const socket = connect(port, loopback);
    after(() => socket.destroy());
  }
  let turns = 0;
  for (; accepted < 200 && turns < 1_000; turns += 1) await turnOfEventLoop();
  assert.equal(accepted, 200);
  assert.ok(turns < 100, `${turns} turns`);
});

it('200 on each of many connections, and 404 for an unknown path', async () => {
  const { port } = await listening();
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      fetch(`http://${loopback}:${port}/${index % 2 === 0 ? 'probe' : 'unknown'}`),
    ),
  );
  for (const [index, { status }] of answers.entries()) assert.equal(status, index % 2 === 0 ? 200 : 404);
});

it('EADDRINUSE for the port of another server, of ours or not', async () => {
  const { port } = await listening();
  const other = await startHttp(routes);
  await assert.rejects(other.listen({ host: loopback, port }), { code: 'EADDRINUSE' });
  const foreign = createServer();
  after(() => foreign.close());
  await new Promise<void>((resolve) => foreign.listen({ host: loopback, port: 0 }, resolve));
  const taken = { host: loopback, port: (foreign.address() as AddressInfo).port };
  await assert.rejects(other.listen(taken), { code: 'EADDRINUSE' });
});

it('no socket accepts connections after close', async () => {
  const { http, port } = await listening();
  await http.close();
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const socket = connect(port, loopback);
    const outcome = await new Promise<string>((resolve) => {
      socket.once('connect', () => resolve('connected'));
      socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
    });
    socket.destroy();
    assert.equal(outcome, 'ECONNREFUSED');
  }
});
