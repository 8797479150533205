/** Webhook receivers on loopback: they keep the requests, and the test chooses the responses. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url));

/** For programs that tests start: `NODE_EXTRA_CA_CERTS`. */
export const authorityFile = fixture('ca.pem');

/** Certificates for 127.0.0.1 to 127.0.0.3, ::1, localhost and receiver.test are valid in this process from now on. */
export function trustTestAuthority(): void {
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authorityFile, 'utf8')]);
}

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Connections, also those without a request. */
  connections(): number;
  close(): Promise<void>;
}

export type RequestHandler = (
  request: Received,
  response: ServerResponse,
  incoming: IncomingMessage,
) => void | Promise<void>;

/** Answers 204 by default. */
export async function startReceiver(
  answer: RequestHandler = (_request, response) => void response.writeHead(204).end(),
  { host = '127.0.0.1', port = 0, tls = true, keep = true } = {},
): Promise<Receiver> {
  const received: Received[] = [];
  let connections = 0;
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const request: Received = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      headers: incoming.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
    };
    if (keep) received.push(request);
    await answer(request, response, incoming);
  };
  const handle = (incoming: IncomingMessage, response: ServerResponse) =>
    void listener(incoming, response).catch(() => response.destroy());
  const server = tls
    ? createTlsServer(
        { cert: readFileSync(fixture('server.pem')), key: readFileSync(fixture('server-key.pem')) },
        handle,
      )
    : createServer(handle);
  server.on('connection', () => {
    connections += 1;
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  after(close);
  const at = (server.address() as AddressInfo).port;
  const spelled = host.includes(':') ? `[${host}]` : host;
  return {
    url: `${tls ? 'https' : 'http'}://${spelled}:${at}`,
    port: at,
    received,
    connections: () => connections,
    close,
  };
}
