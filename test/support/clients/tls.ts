/** The server behind TLS on localhost, for did:web and agent cards, with a certificate that this process trusts. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { after } from 'node:test';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startApp, type TestApp } from '../harness.ts';
import { freePort } from '../programs.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url), 'utf8');

export interface Secured extends TestApp {
  readonly baseUrl: string;
  /** As in did:web. */
  readonly host: string;
}

export async function listenSecurely(changes: Record<string, string> = {}): Promise<Secured> {
  const [port, inner] = [await freePort(), await freePort()];
  const baseUrl = `https://localhost:${port}`;
  const t = await startApp({ ...changes, BASE_URL: baseUrl });
  await t.app.http.server.listen({ port: inner, host: '127.0.0.1' });

  const cert = fixture('localhost.crt');
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  const proxy = createServer({ key: fixture('localhost.key'), cert }, (client) => {
    const server = connect(inner, '127.0.0.1');
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const side of [client, server]) side.on('error', end).on('close', end);
    client.pipe(server).pipe(client);
  });
  proxy.listen(port, 'localhost');
  await once(proxy, 'listening');
  after(() => proxy.close());
  return { ...t, baseUrl, host: `localhost%3A${(proxy.address() as AddressInfo).port}` };
}
