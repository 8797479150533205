/** HTTP servers on loopback in place of ours, and a relay to ours. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

/** A server in place of ours: it may relay to ours, and change what it answers. */
export async function startPeer(listener: RequestListener, tls = false): Promise<string> {
  const fixture = (name: string) =>
    readFileSync(fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url)));
  const server = tls
    ? createTlsServer({ cert: fixture('server.pem'), key: fixture('server-key.pem') }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http${tls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers as the server at `target` does, with changed headers. */
export const relayTo =
  (
    target: string,
    change: (headers: Record<string, string>) => Record<string, string> = (h) => h,
  ): RequestListener =>
  async (request, response) => {
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(`${target}${request.url}`, { headers });
    const received = Object.fromEntries(answer.headers);
    for (const name of [
      'content-encoding',
      'content-length',
      'transfer-encoding',
      'connection',
      'keep-alive',
    ])
      delete received[name];
    response.writeHead(answer.status, change(received)).end(Buffer.from(await answer.arrayBuffer()));
  };
