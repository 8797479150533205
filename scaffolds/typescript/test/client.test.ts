import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ApiError, Client } from '../src/client.ts';

type Answer = { status: number; body: unknown; headers?: Record<string, string> };

const issued = (value: string): Answer => ({
  status: 200,
  body: { access_token: value, token_type: 'Bearer', expires_in: 3600, scope: '' },
});

/** A server that answers as told, and a client of it whose time and waiting are in the test's hands. */
async function start(t: TestContext, answer: (request: IncomingMessage) => Answer) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    const { status, body, headers } = answer(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const time = { now: 1_000_000_000, slept: [] as number[] };
  const client = new Client({
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'id',
    clientSecret: 'secret',
    now: () => time.now,
    sleep: async (ms) => {
      time.slept.push(ms);
      time.now += ms;
    },
  });
  return { client, seen, time };
}

const tokenRequest = 'POST /api/v1/token';

test('one token serves many calls, and calls at the same time share one request for it', async (t) => {
  const { client, seen } = await start(t, (request) =>
    request.method === 'POST' ? issued('one') : { status: 200, body: {} },
  );
  await Promise.all(Array.from({ length: 10 }, () => client.get('/x')));
  assert.equal(seen.filter((line) => line === tokenRequest).length, 1);
  assert.equal(seen.filter((line) => line === 'GET /api/v1/x Bearer one').length, 10);
});

test('a token is renewed before it expires', async (t) => {
  let count = 0;
  const { client, time } = await start(t, () => issued(`token-${++count}`));
  assert.equal(await client.token(), 'token-1');
  time.now += 3_539_000;
  assert.equal(await client.token(), 'token-1');
  time.now += 2_000;
  assert.equal(await client.token(), 'token-2');
});

test('a refused token is replaced once', async (t) => {
  let count = 0;
  const { client, seen } = await start(t, (request) => {
    if (request.method === 'POST') return issued(`token-${++count}`);
    const fresh = request.headers.authorization === 'Bearer token-2';
    return fresh
      ? { status: 200, body: { ok: true } }
      : { status: 401, body: { code: 'UNAUTHORIZED' } };
  });
  assert.deepEqual(await client.get('/x'), { ok: true });
  assert.equal(seen.length, 4);
});

test('a token that is refused again is an error', async (t) => {
  const { client, seen } = await start(t, (request) =>
    request.method === 'POST'
      ? issued('one')
      : { status: 401, body: { code: 'UNAUTHORIZED', message: 'no' } },
  );
  await assert.rejects(client.get('/x'), { status: 401, code: 'UNAUTHORIZED' });
  assert.equal(seen.length, 4);
});

test('a full rate window is waited out', async (t) => {
  let calls = 0;
  const { client, time } = await start(t, (request) => {
    if (request.method === 'POST') return issued('one');
    calls += 1;
    return calls === 1
      ? { status: 429, body: {}, headers: { 'x-ratelimit-reset': '1000030' } }
      : { status: 200, body: { calls } };
  });
  assert.deepEqual(await client.get('/x'), { calls: 2 });
  assert.deepEqual(time.slept, [30_000]);
});

test('does not wait for the next day', async (t) => {
  const { client, time } = await start(t, (request) =>
    request.method === 'POST'
      ? issued('one')
      : { status: 429, body: { code: 'tier_limit_exceeded' }, headers: { 'retry-after': '40000' } },
  );
  await assert.rejects(client.get('/x'), { status: 429, code: 'tier_limit_exceeded' });
  assert.deepEqual(time.slept, []);
});

test('a wrong secret is said to be one', async (t) => {
  const { client } = await start(t, () => ({ status: 401, body: { error: 'invalid_client' } }));
  await assert.rejects(
    client.token(),
    (error) => error instanceof ApiError && /invalid_client/.test(error.message),
  );
});
