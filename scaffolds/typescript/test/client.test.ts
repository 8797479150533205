import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ApiError, createClient } from '../src/countersign/sdk.ts';

type Answer = { status: number; body: unknown; headers?: Record<string, string> };

const issued: Answer = {
  status: 200,
  body: { access_token: 'one', token_type: 'Bearer', expires_in: 3600, scope: '' },
};

/** A server that answers as told, and a client of it that does not really wait. */
async function start(t: TestContext, answer: (request: IncomingMessage) => Answer) {
  const seen: string[] = [];
  const slept: number[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    const { status, body, headers } = answer(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const client = createClient({
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'id',
    auth: 'secret',
    platform: { sleep: async (ms) => void slept.push(ms) },
  });
  return { client, seen, slept };
}

test('one token serves many calls, and calls at the same time share one request for it', async (t) => {
  const { client, seen } = await start(t, ({ method }) =>
    method === 'POST' ? issued : { status: 200, body: {} },
  );
  await Promise.all(Array.from({ length: 10 }, () => client.api.getAgent({ agentId: 'x' })));
  assert.equal(seen.filter((line) => line === 'POST /api/v1/token').length, 1);
  assert.equal(seen.filter((line) => line === 'GET /api/v1/agents/x Bearer one').length, 10);
});

test('a full rate window is waited out', async (t) => {
  let calls = 0;
  const { client, slept } = await start(t, ({ method }) => {
    if (method === 'POST') return issued;
    calls += 1;
    return calls === 1
      ? { status: 429, body: {}, headers: { 'retry-after': '30' } }
      : { status: 200, body: {} };
  });
  await client.api.getAgent({ agentId: 'x' });
  assert.deepEqual(slept, [30_000]);
});

test('a wrong secret is said to be one', async (t) => {
  const { client } = await start(t, () => ({ status: 401, body: { error: 'invalid_client' } }));
  await assert.rejects(
    client.token(),
    (error) => error instanceof ApiError && /invalid_client/.test(error.message),
  );
});
