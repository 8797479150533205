/** A local server that answers as a test says, and a client whose time, waits and randomness the test controls. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { type Client, type ClientOptions, createClient } from '../src/sdk.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Handler = (request: Seen, response: ServerResponse, count: number) => unknown;

export interface Misbehaving {
  readonly client: Client;
  readonly url: string;
  readonly seen: Seen[];
  readonly time: { now: number; random: number; readonly slept: number[] };
  countOf(path: string): number;
}

export const tokenPath = '/api/v1/token';

export const json = (response: ServerResponse, status: number, body: unknown, headers: object = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

/** `token-<count>`, valid for an hour. */
export const issue = (response: ServerResponse, count: number, changes: object = {}): void =>
  json(response, 200, {
    access_token: `token-${count}`,
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'a b',
    ...changes,
  });

/** `count` is the number of requests to the same path so far. */
export async function listenLocally(t: TestContext, handle: Handler): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', headers } = request;
    const path = (request.url ?? '').split('?')[0] ?? '';
    seen.push({ method, path, headers, body: await text(request).catch(() => '') });
    const one = seen.at(-1);
    if (one) handle(one, response, seen.filter((other) => other.path === path).length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

export async function startMisbehaving(
  t: TestContext,
  handle: Handler,
  changes: Partial<ClientOptions> = {},
): Promise<Misbehaving> {
  const { url, seen } = await listenLocally(t, handle);
  const time = { now: 1_700_000_000_000, random: 0.5, slept: [] as number[] };
  const client = createClient({
    issuer: url,
    clientId: 'agent',
    auth: 'secret',
    ...changes,
    platform: {
      now: () => time.now,
      random: () => time.random,
      sleep: async (milliseconds) => {
        time.slept.push(milliseconds);
        time.now += milliseconds;
      },
      ...changes.platform,
    },
  });
  return { client, url, seen, time, countOf: (path) => seen.filter((one) => one.path === path).length };
}
