/** The proxies of deploy/proxies/ as real processes before two serving nodes, on ports of the test. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort, type Program, startProgram, until } from '../programs.ts';

const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** A certificate for localhost. */
export const certificate = fileOf('test/fixtures/tls/localhost.crt');
export const certificateKey = fileOf('test/fixtures/tls/localhost.key');

export interface Ports {
  readonly https: number;
  readonly http: number;
  readonly admin: number;
  readonly nodes: readonly [number, number];
}

export const reservePorts = async (): Promise<Ports> => ({
  https: await freePort(),
  http: await freePort(),
  admin: await freePort(),
  nodes: [await freePort(), await freePort()],
});

export interface ProxyKind {
  readonly name: string;
  readonly file: string;
  /** Whether it asks the nodes for /readyz. */
  readonly checksReadiness: boolean;
  /** Whether the nodes see a client on a loopback address by this address. Envoy names its own address instead. */
  readonly passesLoopbackClients: boolean;
  /** Replacements in the file: the settings of an operator, and the ports and paths of the test. */
  changes(ports: Ports, folder: string): Readonly<Record<string, string>>;
  command(config: string, folder: string): readonly string[];
  env?(ports: Ports, folder: string): Record<string, string>;
}

export const proxies: readonly ProxyKind[] = [
  {
    name: 'nginx',
    file: 'nginx.conf',
    checksReadiness: false,
    passesLoopbackClients: true,
    changes: (ports, folder) => ({
      '/run/nginx.pid': join(folder, 'pid'),
      '/var/log/nginx': folder,
      'worker_processes auto': 'worker_processes 1',
      'id.example.com': 'localhost',
      'https://$server_name': `https://$server_name:${ports.https}`,
      'listen [::]:443 ssl http2 default_server;': '',
      'listen [::]:443 ssl http2;': '',
      'listen [::]:80 default_server;': '',
      'listen 443': `listen 127.0.0.1:${ports.https}`,
      'listen 80': `listen 127.0.0.1:${ports.http}`,
      '/etc/nginx/tls/fullchain.pem': certificate,
      '/etc/nginx/tls/privkey.pem': certificateKey,
      '127.0.0.1:3000': `127.0.0.1:${ports.nodes[0]}`,
      '127.0.0.1:3010': `127.0.0.1:${ports.nodes[1]}`,
    }),
    command: (config, folder) => ['-p', folder, '-c', config, '-g', 'daemon off;'],
  },
  {
    name: 'caddy',
    file: 'Caddyfile',
    checksReadiness: true,
    passesLoopbackClients: true,
    changes: (ports) => ({
      'servers {': `admin 127.0.0.1:${ports.admin}
	http_port ${ports.http}
	https_port ${ports.https}
	default_bind 127.0.0.1
	servers {`,
    }),
    command: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
    env: ({ nodes }, folder) => ({
      HOME: folder,
      COUNTERSIGN_HOST: 'localhost',
      COUNTERSIGN_TLS: `${certificate} ${certificateKey}`,
      COUNTERSIGN_NODES: nodes.map((port) => `127.0.0.1:${port}`).join(' '),
    }),
  },
  {
    name: 'envoy',
    file: 'envoy.yaml',
    checksReadiness: true,
    passesLoopbackClients: false,
    changes: (ports) => ({
      'address: 0.0.0.0, port_value: 443': `address: 127.0.0.1, port_value: ${ports.https}`,
      'address: 0.0.0.0, port_value: 80': `address: 127.0.0.1, port_value: ${ports.http}`,
      'port_value: 9901': `port_value: ${ports.admin}`,
      'id.example.com': 'localhost',
      'https_redirect: true': `https_redirect: true, port_redirect: ${ports.https}`,
      '/etc/envoy/tls/fullchain.pem': certificate,
      '/etc/envoy/tls/privkey.pem': certificateKey,
      'port_value: 3000': `port_value: ${ports.nodes[0]}`,
      'port_value: 3010': `port_value: ${ports.nodes[1]}`,
    }),
    command: (config) => ['-c', config, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'warn'],
  },
];

/** The file as an operator would change it. A change that finds nothing to replace is an error of the test. */
function configOf({ file, changes }: ProxyKind, ports: Ports, folder: string): string {
  let text = readFileSync(fileOf(`deploy/proxies/${file}`), 'utf8');
  for (const [from, to] of Object.entries(changes(ports, folder))) {
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

export async function startProxy(
  proxy: ProxyKind,
  path: string,
  ports: Ports,
  changes: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-proxy-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, basename(proxy.file));
  writeFileSync(config, configOf(proxy, ports, folder));
  const program = startProgram(path, proxy.command(config, folder), {
    env: { PATH: process.env.PATH, ...proxy.env?.(ports, folder), ...changes },
    cwd: folder,
  });
  await until(`${proxy.name} listens`, () => accepts(ports.https), program);
  return program;
}

const accepts = (port: number): Promise<true | undefined> =>
  new Promise((answer) => {
    const socket = connect(port, '127.0.0.1')
      .once('connect', () => {
        socket.destroy();
        answer(true);
      })
      .once('error', () => answer(undefined));
  });
