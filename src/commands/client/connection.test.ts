/** Which requests a command sends again, and when, against a server that is busy. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ioFor } from '../../../test/support/commands-in-process.ts';
import { startPeer } from '../../../test/support/peers/http-peer.ts';
import { exitCodes } from '../command-error.ts';
import { apiCommands } from './api/api-commands.ts';
import { loadOperations } from './api/document.ts';
import { execute } from './api/execute.ts';
import { createApi } from './apply/api.ts';
import { connect } from './connection.ts';
import { scaffold } from './scaffold.ts';

/** Refuses the first request with `status`, and accepts the next ones. */
async function busyServer(status: number, retryAfter?: () => string) {
  const requests: IncomingMessage[] = [];
  const url = await startPeer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/api/v1/token') return response.end('{"access_token":"x"}');
    requests.push(request);
    if (requests.length > 1) return response.end('{}');
    if (retryAfter) response.setHeader('retry-after', retryAfter());
    return response.writeHead(status).end('{"code":"UNAVAILABLE","message":"busy"}');
  });
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_CLIENT_ID: 'id', COUNTERSIGN_CLIENT_SECRET: 'secret' };
  const io = ioFor(env);
  return { requests, io, connection: connect(io, { data: '.countersign' }) };
}

describe('after a 503', () => {
  for (const method of ['GET', 'PUT', 'DELETE'])
    it(`${method} is sent again`, async () => {
      const { requests, connection } = await busyServer(503);
      await connection.call(method, '/agents/1');
      assert.equal(requests.length, 2);
    });

  for (const method of ['POST', 'PATCH'])
    it(`${method} is not sent again`, async () => {
      const { requests, connection } = await busyServer(503);
      await assert.rejects(connection.call(method, '/agents', { body: {} }), /answered 503/);
      assert.equal(requests.length, 1);
    });

  it('a command whose operation takes an idempotency key is sent again with the same one', async () => {
    const { requests, io } = await busyServer(503);
    const command = apiCommands(loadOperations()).find(({ operation }) => operation.id === 'createAgent');
    assert.ok(command);
    const request = { method: 'POST', path: '/agents', query: {}, headers: {}, body: {} };
    await execute(io, command, request, { data: '.countersign', json: true });
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    assert.equal(keys.length, 2);
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
    assert.equal(keys[1], keys[0]);
  });

  it('a date in Retry-After counts; one that is too far away ends the command', async () => {
    const { requests, connection } = await busyServer(503, () =>
      new Date(Date.now() + 3_600_000).toUTCString(),
    );
    await assert.rejects(connection.call('GET', '/agents'), /answered 503/);
    assert.equal(requests.length, 1);
  });
});

it('after a 429 a POST is sent again: the server has not executed it', async () => {
  const { requests, connection } = await busyServer(429, () => '1');
  await connection.call('POST', '/agents', { body: {} });
  assert.equal(requests.length, 2);
});

it('an attempt without an answer ends by time, also while the answer arrives', async (t) => {
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms: number) =>
    setTimeout(work, ms === 30_000 ? 300 : ms),
  );
  const url = await startPeer((request, response) => {
    if (request.url === '/api/v1/token') response.end('{"access_token":"x"}');
    else if (request.url?.endsWith('half')) response.write('{');
  });
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_CLIENT_ID: 'id', COUNTERSIGN_CLIENT_SECRET: 'secret' };
  const io = ioFor(env);
  const connection = connect(io, { data: '.countersign' });
  const api = createApi(io, connection, { userAgent: 'test', run: '1' });
  for (const path of ['/nothing', '/half'])
    await assert.rejects(api.get(path), { exitCode: exitCodes.unavailable });
  const options = { language: 'go', out: join(tmpdir(), randomUUID()), data: '.countersign' };
  await assert.rejects(scaffold(io, randomUUID(), options), { exitCode: exitCodes.unavailable });
});

it('an endless answer is refused', async () => {
  let sent = 0;
  const url = await startPeer((request, response) => {
    if (request.url === '/api/v1/token') return void response.end('{"access_token":"x"}');
    const more = () => {
      while (!response.destroyed && sent < 200 * 1024 * 1024) {
        sent += 65_536;
        if (!response.write(Buffer.alloc(65_536, ' '))) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_CLIENT_ID: 'id', COUNTERSIGN_CLIENT_SECRET: 'secret' };
  const io = ioFor(env);
  const connection = connect(io, { data: '.countersign' });
  await assert.rejects(connection.call('GET', '/agents'), /longer than 16777216 bytes/);
  const api = createApi(io, connection, { userAgent: 'test', run: '1' });
  await assert.rejects(api.get('/agents'), /longer than 16777216 bytes/);
});
