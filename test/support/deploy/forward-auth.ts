/** The proxies of deploy/proxies/forward-auth/ before an API that shows what it gets. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { freePort } from '../programs.ts';
import { certificate, certificateKey, type Ports, type ProxyKind } from './proxies.ts';

/** `nodes`: Countersign, and the API. */
export const forwardAuthProxies: readonly ProxyKind[] = [
  {
    name: 'nginx',
    file: 'forward-auth/nginx.conf',
    checksReadiness: false,
    passesLoopbackClients: true,
    changes: (ports, folder) => ({
      '/run/nginx.pid': join(folder, 'pid'),
      '/var/log/nginx': folder,
      'worker_processes auto': 'worker_processes 1',
      'listen 443': `listen 127.0.0.1:${ports.https}`,
      '%2Forders.example.com': `%2Flocalhost%3A${ports.https}`,
      'https://orders.example.com$': `https://localhost:${ports.https}$`,
      'orders.example.com': 'localhost',
      'id.example.com:443': `127.0.0.1:${ports.nodes[0]}`,
      'id.example.com': 'localhost',
      '127.0.0.1:8080': `127.0.0.1:${ports.nodes[1]}`,
      '/etc/ssl/certs/ca-certificates.crt': certificate,
      '/etc/nginx/tls/fullchain.pem': certificate,
      '/etc/nginx/tls/privkey.pem': certificateKey,
    }),
    command: (config, folder) => ['-p', folder, '-c', config, '-g', 'daemon off;'],
  },
  {
    name: 'caddy',
    file: 'forward-auth/Caddyfile',
    checksReadiness: false,
    passesLoopbackClients: true,
    changes: (ports) => ({
      '{$API_HOST:orders.example.com} {': `{
	admin off
	http_port ${ports.http}
	https_port ${ports.https}
	default_bind 127.0.0.1
	skip_install_trust
}

{$API_HOST:orders.example.com} {`,
    }),
    command: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
    env: ({ https, nodes }, folder) => ({
      HOME: folder,
      SSL_CERT_FILE: certificate,
      API_HOST: `localhost:${https}`,
      API_ADDRESS: `127.0.0.1:${nodes[1]}`,
      API_TLS: `${certificate} ${certificateKey}`,
      COUNTERSIGN_URL: `https://localhost:${nodes[0]}`,
    }),
  },
  {
    name: 'envoy',
    file: 'forward-auth/envoy.yaml',
    checksReadiness: false,
    passesLoopbackClients: false,
    changes: (ports) => ({
      'address: 0.0.0.0, port_value: 443': `address: 127.0.0.1, port_value: ${ports.https}`,
      '%2Forders.example.com': `%2Flocalhost%3A${ports.https}`,
      'https://orders.example.com%': `https://localhost:${ports.https}%`,
      'address: id.example.com, port_value: 443': `address: 127.0.0.1, port_value: ${ports.nodes[0]}`,
      'id.example.com': 'localhost',
      'port_value: 8080': `port_value: ${ports.nodes[1]}`,
      '/etc/ssl/certs/ca-certificates.crt': certificate,
      '/etc/envoy/tls/fullchain.pem': certificate,
      '/etc/envoy/tls/privkey.pem': certificateKey,
    }),
    command: (config) => ['-c', config, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'warn'],
  },
];

export const reserveForwardAuthPorts = async (): Promise<Ports> => ({
  https: await freePort(),
  http: await freePort(),
  admin: await freePort(),
  nodes: [await freePort(), await freePort()],
});

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An API without any check of its own. Answers what it got; `seen` are all requests. */
export async function startBlindApi(port: number): Promise<{ readonly seen: readonly SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const got = { method, url, headers, body: await text(request) };
    seen.push(got);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(got));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen };
}

/** TLS before the HTTP port of Countersign; `stop` closes it and its connections. */
export async function startTlsFront(port: number, httpPort: number): Promise<{ stop(): void }> {
  const options = { cert: readFileSync(certificate), key: readFileSync(certificateKey) };
  const open = new Set<{ destroy(): void }>();
  const server = createTlsServer(options, (socket) => {
    const upstream = connect(httpPort, '127.0.0.1');
    for (const one of [socket, upstream]) {
      open.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        socket.destroy();
        upstream.destroy();
      });
    }
    socket.pipe(upstream).pipe(socket);
  });
  server.on('tlsClientError', () => {});
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    for (const one of open) one.destroy();
  };
  after(stop);
  return { stop };
}
